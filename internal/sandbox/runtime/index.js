// Runs one invocation of a Lambda function: the event comes on standard input,
// the result goes to the file named by SANDBOX_RESULT.
'use strict';
const fs = require('fs');
const http = require('http');
const https = require('https');
const path = require('path');
const { pathToFileURL } = require('url');

// Handlers answer to a ResponseURL over https only; the sandbox's is http.
const original = https.request;
https.request = function (...args) {
  const target = typeof args[0] === 'string' || args[0] instanceof URL ? new URL(args[0]) : args[0];
  const host = target.hostname || target.host || '';
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host)) return original.apply(https, args);
  const sandbox = new URL(process.env.AWS_ENDPOINT_URL);
  const options = args.find((a, i) => i < 2 && a && typeof a === 'object' && !(a instanceof URL)) || {};
  return http.request({
    method: options.method || 'GET',
    headers: options.headers,
    hostname: sandbox.hostname,
    port: sandbox.port,
    path: options.path || (target.pathname || '/') + (target.search || ''),
  }, args.find((a) => typeof a === 'function'));
};

async function load(handler) {
  const dot = handler.lastIndexOf('.');
  const base = path.join(process.cwd(), handler.slice(0, dot));
  for (const end of ['.js', '.cjs', '.mjs']) {
    if (!fs.existsSync(base + end)) continue;
    let module;
    try {
      if (end === '.mjs') throw Object.assign(new Error(), { code: 'ERR_REQUIRE_ESM' });
      module = require(base + end);
    } catch (e) {
      if (e.code !== 'ERR_REQUIRE_ESM') throw e;
      module = await import(pathToFileURL(base + end));
    }
    const found = module[handler.slice(dot + 1)] || (module.default || {})[handler.slice(dot + 1)];
    if (typeof found !== 'function') throw new Error(handler + ' is undefined or not exported');
    return found;
  }
  throw new Error('Cannot find module ' + handler.slice(0, dot));
}

function context(settle) {
  const env = process.env;
  const end = Date.now() + 1000 * Number(env.SANDBOX_TIMEOUT);
  return {
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: '$LATEST',
    invokedFunctionArn: env.SANDBOX_FUNCTION_ARN,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    awsRequestId: env.SANDBOX_REQUEST_ID,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => end - Date.now(),
    done: (e, v) => settle(e, v),
    succeed: (v) => settle(null, v),
    fail: (e) => settle(e || new Error('failed')),
  };
}

function result(value) {
  fs.writeFileSync(process.env.SANDBOX_RESULT, JSON.stringify(value));
}

(async () => {
  try {
    const event = JSON.parse(fs.readFileSync(0, 'utf8'));
    const run = await load(process.env._HANDLER);
    const payload = await new Promise((resolve, reject) => {
      const settle = (e, v) => (e ? reject(e) : resolve(v));
      const returned = run(event, context(settle), settle);
      if (returned && typeof returned.then === 'function') returned.then(resolve, reject);
      else process.on('beforeExit', () => resolve(null)); // no callback, nothing left to do
    });
    result({ payload: payload === undefined ? null : payload });
  } catch (e) {
    const error = e instanceof Error ? e : new Error(String(e));
    result({ errorType: error.name, errorMessage: error.message });
  }
  process.exit(0);
})();
