#!/usr/bin/env node
// The part of solc's command line that forge and Hardhat use, around the npm package solc, because native compilers are downloads.
import { readFileSync } from 'node:fs'
import solc from 'solc'

if (process.argv.includes('--version')) process.stdout.write(`solc, the solidity compiler\nVersion: ${solc.version()}\n`)
else process.stdout.write(`${solc.compile(readFileSync(0, 'utf8'))}\n`)
