import ms from 'ms'

const greeting = process.argv[2]
if (!greeting) throw new Error('nothing to say')
console.log(`${greeting} ${process.env.WHOM}: ${ms(2000)}`)
