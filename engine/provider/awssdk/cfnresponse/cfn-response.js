// Answers a CloudFormation custom resource request. Added to inline code that
// requires 'cfn-response', as CloudFormation does.
'use strict';
const http = require('http');
const https = require('https');

exports.SUCCESS = 'SUCCESS';
exports.FAILED = 'FAILED';

exports.send = function (event, context, status, data, physicalResourceId, noEcho) {
  const answer = JSON.stringify({
    Status: status,
    Reason: `Details are in the log stream ${context.logStreamName} of ${context.logGroupName}`,
    PhysicalResourceId: physicalResourceId || context.logStreamName,
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
    NoEcho: noEcho || false,
    Data: data,
  });
  const url = new URL(event.ResponseURL);
  const client = url.protocol === 'http:' ? http : https;
  // Never rejects: handlers in the callback style do not look at the promise.
  return new Promise((resolve) => {
    const finish = (statusCode) => {
      resolve(statusCode);
      // Handlers in the callback style end only when told to.
      if (typeof context.done === 'function') context.done();
    };
    const request = client.request(
      url,
      { method: 'PUT', headers: { 'content-type': '', 'content-length': Buffer.byteLength(answer) } },
      (response) => {
        response.resume();
        response.on('end', () => finish(response.statusCode));
      },
    );
    request.on('error', (error) => {
      console.log('The answer to CloudFormation could not be sent:', error.message);
      finish();
    });
    request.end(answer);
  });
};
