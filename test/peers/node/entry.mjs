// Entries of the cache as they are, by the parts of the official client that speak
// to the service and to the storage. What the client has for others packs files
// with tar, and computes a version from their paths; both are left out here.
//
//   entry.mjs save KEY VERSION FILE
//   entry.mjs restore KEY VERSION FILE [RESTORE-KEY…]
//
// The answers of the service go into the file that ANSWERS names.
import { stat, writeFile } from 'node:fs/promises'
import process from 'node:process'

const part = name => import(new URL(`./node_modules/@actions/cache/lib/internal/${name}.js`, import.meta.url))
const service = (await part('shared/cacheTwirpClient')).internalCacheTwirpClient()
const storage = await part('cacheHttpClient')

const [, , action, key, version, file, ...restoreKeys] = process.argv
const answers = []
if (action === 'save') {
  answers.push(await service.CreateCacheEntry({ key, version }))
  await storage.saveCache(-1, file, answers[0].signedUploadUrl, { useAzureSdk: true })
  const { size } = await stat(file)
  answers.push(await service.FinalizeCacheEntryUpload({ key, version, sizeBytes: `${size}` }))
} else {
  answers.push(await service.GetCacheEntryDownloadURL({ key, version, restoreKeys }))
  if (answers[0].ok) await storage.downloadCache(answers[0].signedDownloadUrl, file)
}
await writeFile(process.env.ANSWERS, JSON.stringify(answers.map(({ ok, entryId, matchedKey }) => ({ ok, entryId, matchedKey }))))
