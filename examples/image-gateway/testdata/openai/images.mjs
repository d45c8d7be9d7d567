// What OpenAI's own client can do with the gateway, and what it is told about the rest.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import OpenAI, { toFile } from 'openai'

const { GATEWAY, KEY } = process.env
const client = new OpenAI({ baseURL: `${GATEWAY}/v1`, apiKey: KEY, maxRetries: 0 })
const model = 'svc-image-2'
const prompt = 'a red fox'

const bytes = (image) => Buffer.from(image.b64_json, 'base64')
const isPNG = (data) => data.subarray(1, 4).toString() === 'PNG'
const ratio = (png) => png.readUInt32BE(16) / png.readUInt32BE(20)

// models
const models = await client.models.list()
assert.equal(models.data[0].id, model)
assert.equal((await client.models.retrieve(model)).object, 'model')

// sizes
for (const [size, said, want] of [
  ['1536x1024', '3:2', 3 / 2],
  ['1792x1024', '16:9', 16 / 9],
  ['1024x1024', '1:1', 1],
  ['auto', 'auto', 1],
  ['4:5', null, 4 / 5],
]) {
  const { data, response } = await client.images.generate({ model, prompt, size }).withResponse()
  assert.equal(response.headers.get('image-ratio'), said, size)
  assert.ok(Math.abs(ratio(bytes(data.data[0])) - want) < 0.01, size)
  assert.equal(data.output_format, 'png')
  assert.equal(data.usage.input_tokens_details.image_tokens, 0)
}

// formats
const jpeg = await client.images.generate({ model, prompt, n: 2, output_format: 'jpeg' })
assert.equal(jpeg.data.length, 2)
for (const image of jpeg.data) assert.equal(bytes(image).readUInt16BE(0), 0xffd8)
const linked = await client.images.generate({ model, prompt, response_format: 'url' })
assert.equal(linked.data[0].b64_json, undefined)
const fetched = await fetch(linked.data[0].url)
assert.equal(fetched.headers.get('content-type'), 'image/png')
assert.ok(isPNG(Buffer.from(await fetched.arrayBuffer())))

// references: one file or several, with and without a type
const png = bytes((await client.images.generate({ model, prompt })).data[0])
fs.writeFileSync('fox.png', png)
for (const image of [
  fs.createReadStream('fox.png'),
  await toFile(png, 'fox.png', { type: 'image/png' }),
  await toFile(png, 'fox'),
  [await toFile(png, 'a.png'), await toFile(png, 'b.png', { type: 'image/png' })],
]) {
  const edited = await client.images.edit({ model, prompt: 'in winter', image, size: '1024x1024' })
  assert.ok(isPNG(bytes(edited.data[0])))
}

// what is not supported is refused, and the error says which parameter
async function refused(call, want) {
  await assert.rejects(call, (err) => {
    assert.ok(err instanceof OpenAI.APIError, err)
    const { status, code, param } = err
    assert.deepEqual({ status, code, param }, { param: undefined, ...want }, err.message)
    return true
  })
}
const generate = (more) => client.images.generate({ model, prompt, ...more })
const unsupported = { status: 400, code: 'unsupported_value' }
await refused(generate({ stream: true }), { ...unsupported, param: 'stream' })
await refused(generate({ quality: 'high' }), { ...unsupported, param: 'quality' })
await refused(generate({ background: 'transparent' }), { ...unsupported, param: 'background' })
await refused(generate({ output_format: 'webp' }), { ...unsupported, param: 'output_format' })
await refused(generate({ style: 'vivid' }), { status: 400, code: 'unknown_parameter', param: 'style' })
await refused(generate({ size: 'big' }), { status: 400, code: 'invalid_size', param: 'size' })
await refused(generate({ n: 100 }), { status: 400, code: 'out_of_range', param: 'n' })
await refused(generate({ prompt: '' }), { status: 400, code: 'missing', param: 'prompt' })
const image = await toFile(png, 'fox.png')
await refused(client.images.edit({ model, prompt, image, mask: image }), {
  status: 400, code: 'unknown_file', param: 'mask',
})
await refused(client.images.edit({ model, prompt, image: await toFile(Buffer.from('text'), 'fox.png') }), {
  status: 400, code: 'not_an_image', param: 'image',
})
await refused(client.images.createVariation({ model, image }), { status: 404, code: 'not_found' })
await refused(new OpenAI({ baseURL: `${GATEWAY}/v1`, apiKey: 'wrong', maxRetries: 0 }).models.list(), {
  status: 401, code: 'invalid_key',
})

console.log('done')
