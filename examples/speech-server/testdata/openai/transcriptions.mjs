// What OpenAI's own client can do with the server, and what it is told about the rest.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import OpenAI from 'openai'

const { SERVER, AUDIO, SAID: said } = process.env
const client = new OpenAI({ baseURL: `${SERVER}/v1`, apiKey: 'none is needed', maxRetries: 0 })
const model = 'whisper-1'
const create = (options) =>
  client.audio.transcriptions.create({ file: fs.createReadStream(AUDIO), model, ...options })
const refused = (options, says) =>
  assert.rejects(create(options), (e) => e.status === 400 && e.error.message.includes(says) && e.type !== undefined)

// models
const models = await client.models.list()
assert.equal(models.data.length, 1)
assert.equal((await client.models.retrieve(models.data[0].id)).object, 'model')
await assert.rejects(client.models.retrieve('none'), (e) => e.status === 404 && e.code === 'model_not_found')

// formats
assert.equal((await create({})).text, said)
assert.equal((await create({ language: 'en', prompt: 'picture', temperature: 0 })).text, said)
assert.equal((await create({ response_format: 'text' })).trim(), said)
assert.match(await create({ response_format: 'srt' }), new RegExp(`^1\\n00:00:0\\d,\\d{3} --> 00:00:0\\d,\\d{3}\\n${said}\\n`))
assert.match(await create({ response_format: 'vtt' }), new RegExp(`^WEBVTT\\n\\n00:00:0\\d\\.\\d{3} --> .*\\n${said}\\n`))
const verbose = await create({ response_format: 'verbose_json', language: 'en' })
assert.equal(verbose.language, 'en')
assert.equal(verbose.segments[0].text, said)
assert.ok(verbose.duration > 0.5)
const words = await create({ response_format: 'verbose_json', timestamp_granularities: ['word'] })
assert.deepEqual(words.words.map((w) => w.word), said.split(' '))
assert.ok(words.words[0].end <= words.words[1].start)

// stream
let text = ''
let done
for await (const event of await create({ stream: true })) {
  if (event.type === 'transcript.text.delta') text += event.delta
  if (event.type === 'transcript.text.done') done = event.text
}
assert.equal(text, said)
assert.equal(done, said)

// what is refused
await refused({ response_format: 'xml' }, 'must be json, text, verbose_json, srt or vtt')
await refused({ temperature: 7 }, 'from 0 to 1')
await refused({ timestamp_granularities: ['word'] }, 'needs response_format verbose_json')
await refused({ include: ['logprobs'] }, 'not supported')
await refused({ file: new File(['dear diary'], 'a.wav') }, 'not audio')
console.log('done')
