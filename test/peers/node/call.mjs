// Calls of an official client, one after the other:
//
//   call.mjs artifact|cache CALLS
//
// CALLS is a list of [function, argument…] in JSON. What they return goes into the
// file that ANSWERS names, as a list of {value} or {error}.
import { writeFile } from 'node:fs/promises'
import process from 'node:process'

const libraries = {
  artifact: async () => new (await import('@actions/artifact')).DefaultArtifactClient(),
  cache: () => import('@actions/cache'),
}
const [, , library, calls] = process.argv
const client = await libraries[library]()
const answers = []
for (const [name, ...args] of JSON.parse(calls)) {
  try {
    answers.push({ value: (await client[name](...args)) ?? null })
  } catch (error) {
    answers.push({ error: `${error.name}: ${error.message}` })
  }
}
await writeFile(process.env.ANSWERS, JSON.stringify(answers))
