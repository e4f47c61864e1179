// Azurite, Microsoft's server of Blob Storage for tests, with the container "shop". Prints its port. Ends when its
// standard input does, also when the tests are killed.
const { spawn } = require('child_process'), crypto = require('crypto'), http = require('http');
const args = ['--blobHost', '127.0.0.1', '--blobPort', '0', '--inMemoryPersistence', '--disableTelemetry'];
const server = spawn(process.argv[1], args, { stdio: ['ignore', 'pipe', 'ignore'] });
const end = () => { server.kill('SIGKILL'); process.exit(); };
process.stdin.on('end', end).resume();
server.on('exit', end);
let said = '';
server.stdout.on('data', (text) => {
  const port = /listens on http:..127.0.0.1:(\d+)/.exec(said += text);
  if (!port) return;
  server.stdout.removeAllListeners('data').resume();
  const date = new Date().toUTCString(), path = '/devstoreaccount1/shop';
  const key = Buffer.from('Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==', 'base64');
  const lines = ['PUT', ...Array(11).fill(''), `x-ms-date:${date}`, 'x-ms-version:2021-10-04', `/devstoreaccount1${path}`, 'restype:container'];
  const signature = crypto.createHmac('sha256', key).update(lines.join('\n')).digest('base64');
  const headers = { 'x-ms-date': date, 'x-ms-version': '2021-10-04', 'Content-Length': 0, Authorization: `SharedKey devstoreaccount1:${signature}` };
  const p = port[1];
  http.request({ port: p, method: 'PUT', path: `${path}?restype=container`, headers }, (answer) => {
    console.log(answer.statusCode === 201 ? p : `status ${answer.statusCode}`);
  }).end();
});
