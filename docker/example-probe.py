#!/usr/bin/env python3
"""The smallest probe that keeps docker/CONTRACT.md: a UDP echo, both halves in one program."""
import signal, socket, sys, time

DESCRIBE = """option size count 1..1400 64 bytes of a message
metric echo ns one message and its echo: 1 RTT
metric echoed count messages the server sent back"""

def give_up(status, reason):
    print(f"example-probe: {reason}", file=sys.stderr)
    sys.exit(status)

def number(text, low, high):
    if text.isdecimal() and low <= int(text) <= high:
        return int(text)
    give_up(2, f"'{text}' is not a whole number from {low} to {high}")

def parse(words, options):
    """--name value and name=value alike; what is not in `options` is a usage error, as is a None."""
    words = iter(words)
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if name not in options:
            give_up(2, f"unknown option '{word}'")
        options[name] = value if equals else next(words, "")
    for name in options:
        if options[name] is None:
            give_up(2, f"option '--{name}' is missing")
    options["size"] = number(options["size"], 1, 1400)
    return options

def seconds(duration):
    """ "500ms", "14.92s" …: the runner writes every duration with its unit."""
    for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1), ("m", 60), ("h", 3600)):
        if duration.endswith(unit):
            return float(duration.removesuffix(unit)) * factor
    give_up(2, f"'{duration}' is not a duration")

def open_socket(addr, deadline):
    limit, reason = seconds(deadline), f"deadline of {deadline} passed"
    host, port = addr.rsplit(":", 1)
    six = host.startswith("[")
    sock = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
    signal.signal(signal.SIGALRM, lambda *_: give_up(1, reason))
    signal.setitimer(signal.ITIMER_REAL, limit)  # each half owns a deadline, whatever it hangs in
    return sock, (host.strip("[]"), int(port))

def serve(options):
    sock, addr = open_socket(options["listen"], options["deadline"])
    echoed = 0
    def stop(*_):
        print(f"count echoed {echoed}", flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, stop)
    sock.bind(addr)
    host, port = sock.getsockname()[:2]
    print(f"ready [{host}]:{port}" if ":" in host else f"ready {host}:{port}", flush=True)
    while True:
        message, peer = sock.recvfrom(2048)
        sock.sendto(message, peer)
        echoed += 1

def run(options):
    count = number(options["samples"], 1, 10000000)
    sock, addr = open_socket(options["peer"], options["deadline"])
    sock.connect(addr)
    message, samples = b"x" * options["size"], []
    for _ in range(count):
        start = time.monotonic_ns()
        sock.send(message)
        sock.recv(2048)
        samples.append(time.monotonic_ns() - start)
    print(f"info size {options['size']}")
    print("\n".join(f"sample echo ns {value}" for value in samples))

command, words = sys.argv[1:2], sys.argv[2:]
if command == ["describe"]:
    print(DESCRIBE)
elif command == ["serve"]:
    serve(parse(words, {"listen": None, "deadline": "60s", "size": "64"}))
elif command == ["run"]:
    run(parse(words, {"peer": None, "samples": None, "deadline": "60s", "size": "64"}))
else:
    give_up(2, f"expected serve, run or describe, not {' '.join(command) or 'nothing'}")
