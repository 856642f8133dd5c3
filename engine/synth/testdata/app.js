// An app that behaves as one made with the CDK library does: it takes its
// context from the environment and asks for what it does not find there.
const fs = require('fs');
const path = require('path');

const { CDK_CONTEXT_JSON, CONTEXT_OVERFLOW_LOCATION_ENV: overflow, CDK_OUTDIR } = process.env;
const context = JSON.parse(overflow ? fs.readFileSync(overflow, 'utf8') : CDK_CONTEXT_JSON);
const missing = [];

function ask(key, provider, props) {
  if (!(key in context)) missing.push({ key, provider, props });
  return context[key];
}

const name = ask('name', 'ssm', { parameterName: '/name' });
if (name) ask('of ' + name, 'ssm', { parameterName: '/of/' + name });

fs.writeFileSync(path.join(CDK_OUTDIR, 'manifest.json'), JSON.stringify({ version: '38.0.0', missing }));
fs.writeFileSync(path.join(CDK_OUTDIR, 'seen.json'), JSON.stringify({ context, overflow: Boolean(overflow), arguments: process.argv.slice(2) }));
console.log('asked for', missing.length);
