// Stands in for the module that Lambda gives to inline code.
'use strict';
exports.SUCCESS = 'SUCCESS';
exports.FAILED = 'FAILED';
exports.send = function (event, context, status, data, physicalId, noEcho) {
  const body = JSON.stringify({
    Status: status,
    Reason: 'See the details in CloudWatch Log Stream: ' + context.logStreamName,
    PhysicalResourceId: physicalId || context.logStreamName,
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
    NoEcho: noEcho || false,
    Data: data,
  });
  return new Promise((resolve, reject) => {
    const url = new URL(event.ResponseURL);
    const client = url.protocol === 'http:' ? require('http') : require('https');
    const request = client.request(url, {
      method: 'PUT',
      headers: { 'content-type': '', 'content-length': Buffer.byteLength(body) },
    }, (response) => {
      response.resume();
      response.on('end', () => { resolve(); context.done(); });
    });
    request.on('error', (e) => { reject(e); context.done(e); });
    request.end(body);
  });
};
