// azurite's blob server with the options that it has, which ends when standard
// input does: so it never outlives who started it.
import process from 'node:process'

process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume()
await import('azurite/dist/src/blob/main.js')
