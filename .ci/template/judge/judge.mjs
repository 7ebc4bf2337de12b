// Judges the policies of every function's role: `judge.mjs FOLDER`, with `policies.json` of translate.py in the folder.
//
// What a function asks for is allowed, everything else is denied; and every part of a policy is needed: taking away a statement, an
// action or a resource makes some case fail, taking away a condition lets something through.

import { readFileSync } from 'node:fs'
import { runSimulation } from '@cloud-copilot/iam-simulate'
import { FUNCTIONS, NOT_JUDGED, cases } from './cases.mjs'

const { policies, names } = JSON.parse(readFileSync(`${process.argv[2]}/policies.json`, 'utf8'))

names.SHARER = '9'.repeat(12)
const list = (value) => (Array.isArray(value) ? value : [value])
const named = (text) => Object.entries(names).reduce((whole, [name, value]) => whole.replaceAll(name, value), text)
const put = (value) => (Array.isArray(value) ? value.map(named) : named(value))

async function isAllowed(role, statements, { action, resource, context }) {
  const simulation = {
    request: {
      principal: `arn:aws:iam::${names.ACCOUNT}:role/${role}`,
      action,
      resource: { resource: named(resource), accountId: names.ACCOUNT },
      contextVariables: Object.fromEntries(Object.entries(context).map(([key, value]) => [key, put(value)])),
    },
    identityPolicies: [{ name: role, policy: { Version: '2012-10-17', Statement: statements } }],
    serviceControlPolicies: [],
    resourceControlPolicies: [],
  }
  const answer = await runSimulation(simulation, {})
  if (answer.resultType === 'error' || answer.errors) throw new Error(`${action} on ${named(resource)}: ${JSON.stringify(answer.errors)}`)
  return answer.overallResult === 'Allowed'
}

// Every statement with one part less, and what was taken.
function* lessened(statements) {
  for (const [index, statement] of statements.entries()) {
    const without = (part) => statements.map((own, at) => (at === index ? { ...own, ...part } : own))
    yield [`statement ${statement.Sid}`, statements.filter((_, at) => at !== index), statement]
    for (const field of ['Action', 'Resource']) {
      const values = list(statement[field])
      for (const value of values.length > 1 ? values : []) {
        yield [`${value} of ${statement.Sid}`, without({ [field]: values.filter((own) => own !== value) }), statement]
      }
    }
  }
}

function* loosened(statements) {
  for (const [index, statement] of statements.entries()) {
    for (const [operator, tests] of Object.entries(statement.Condition ?? {})) {
      for (const key of Object.keys(tests)) {
        const Condition = structuredClone(statement.Condition)
        delete Condition[operator][key]
        if (Object.keys(Condition[operator]).length === 0) delete Condition[operator]
        const rest = { ...statement, Condition }
        if (Object.keys(Condition).length === 0) delete rest.Condition
        yield [`condition ${key} of ${statement.Sid}`, statements.map((own, at) => (at === index ? rest : own)), statement]
      }
    }
  }
}

const concerns = (statement, { action }) => list(statement.Action).includes(action)
const problems = []
let judged = 0
for (const name of FUNCTIONS) {
  const statements = policies[name].flatMap((policy) => policy.Statement)
  for (const one of cases) {
    judged += 1
    const expected = one.may.includes(name)
    if ((await isAllowed(name, statements, one)) !== expected) {
      problems.push(`${name}: ${one.action} on ${one.resource} ${JSON.stringify(one.context)} is ${expected ? 'denied' : 'allowed'}`)
    }
  }
  const finds = async (rest, which) => {
    for (const one of which) if ((await isAllowed(name, rest, one)) !== one.may.includes(name)) return true
    return false
  }
  for (const [what, rest, statement] of lessened(statements)) {
    if (NOT_JUDGED.has(statement.Sid)) continue
    if (!(await finds(rest, cases.filter((one) => one.may.includes(name) && concerns(statement, one))))) problems.push(`${name}: nothing needs ${what}`)
  }
  for (const [what, rest, statement] of loosened(statements)) {
    if (!(await finds(rest, cases.filter((one) => !one.may.includes(name) && concerns(statement, one))))) problems.push(`${name}: nothing is kept out by ${what}`)
  }
}
for (const problem of problems) console.error(`error: ${problem}`)
console.log(`${judged} requests judged, ${problems.length} not as they should be`)
process.exitCode = problems.length > 0 ? 1 : 0
