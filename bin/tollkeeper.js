#!/usr/bin/env node
// Runs on any Node from 18 on: plain JavaScript, no packages.
import process from 'node:process';
import { launch } from '../scripts/launch.js';

await launch({ file: 'src/main.ts', parameters: process.argv.slice(2) });
