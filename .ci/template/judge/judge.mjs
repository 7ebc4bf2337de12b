// Judges the policies of every function's role: `judge.mjs FOLDER [CALLS]`, with `policies.json` of translate.py in the folder, and the
// record of the end-to-end rig.
//
// What a function asks for is allowed, everything else is denied; and every part of a policy is needed: taking away a statement, an
// action or a resource makes some case fail, taking away a condition lets something through. What functions needed while the rig ran is
// allowed. Where the whole rig ran, some call of it needed every statement, but for those that AWS itself makes use of.
//
// A statement that denies is judged where it matters, with all clusters served (ClusterNames is "*"): without it, or a part of it,
// something is let through; without a condition of it, something that a function asks for is not.

import { readFileSync } from 'node:fs'
import { runSimulation } from '@cloud-copilot/iam-simulate'
import { FUNCTIONS, cases } from './cases.mjs'
import { recorded } from './recorded.mjs'

const [folder, record] = process.argv.slice(2)
const { policies, names, served } = JSON.parse(readFileSync(`${folder}/policies.json`, 'utf8'))

names.SHARER = '9'.repeat(12)
const list = (value) => (Array.isArray(value) ? value : [value])
const named = (text) => Object.entries(names).reduce((whole, [name, value]) => whole.replaceAll(name, value), text)
// AWS's own parameters are of no account, which the simulator does not know: they get one, in policies and in requests.
const owned = (arn) => arn.replace(/^(arn:[^:]+:ssm:[^:]+)::/, `$1:${'0'.repeat(12)}:`)
const put = (value) => (Array.isArray(value) ? value.map(named) : named(value))

// A key's own policy has the last word; that of AWS's default leaves it to the policies of roles.
const KEY_POLICY = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: { AWS: `arn:aws:iam::${names.ACCOUNT}:root` }, Action: 'kms:*', Resource: '*' }] }

async function isAllowed(role, statements, { action, resource, context }) {
  const simulation = {
    request: {
      principal: `arn:aws:iam::${names.ACCOUNT}:role/${role}`,
      action,
      resource: { resource: owned(named(resource)), accountId: names.ACCOUNT },
      contextVariables: Object.fromEntries(Object.entries(context).map(([key, value]) => [key, put(value)])),
    },
    identityPolicies: [{ name: role, policy: { Version: '2012-10-17', Statement: statements } }],
    serviceControlPolicies: [],
    resourceControlPolicies: [],
    ...(action.startsWith('kms:') ? { resourcePolicy: KEY_POLICY } : {}),
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

const statementsOf = (name) =>
  policies[name].flatMap((policy) => policy.Statement).map((own) => ({ ...own, Resource: list(own.Resource).map(owned) }))

// The same where all clusters are served.
const servingAll = (statements) =>
  structuredClone(statements).map((own) => {
    for (const tests of Object.values(own.Condition ?? {})) {
      for (const [key, values] of Object.entries(tests)) if (list(values).join() === served.join()) tests[key] = ['*']
    }
    return own
  })

const isOfCatalogue = ({ context }) => list(context['dynamodb:LeadingKeys'] ?? []).some((key) => key.startsWith('region/'))
const isDenial = (statement) => statement.Effect === 'Deny'
// Whether some case is judged so by the statements and otherwise by the rest of them.
async function tells(name, statements, rest, allowed, which) {
  for (const one of which) if ((await isAllowed(name, statements, one)) === allowed && (await isAllowed(name, rest, one)) !== allowed) return true
  return false
}

const concerns = (statement, { action }) => list(statement.Action).includes(action)
const problems = []
let judged = 0
for (const name of FUNCTIONS) {
  const statements = statementsOf(name)
  const all = servingAll(statements)
  const judge = async (one, by, where) => {
    judged += 1
    const expected = one.may.includes(name)
    if ((await isAllowed(name, by, one)) !== expected) {
      problems.push(`${name}: ${one.action} on ${one.resource} ${JSON.stringify(one.context)} is ${expected ? 'denied' : 'allowed'}${where}`)
    }
  }
  for (const one of cases) {
    await judge(one, statements, '')
    if (isOfCatalogue(one)) await judge(one, all, ' where all clusters are served')
  }
  const about = (statement, may) => cases.filter((one) => one.may.includes(name) === may && concerns(statement, one))
  for (const [what, rest, statement] of lessened(statements)) {
    if (isDenial(statement)) continue
    if (!(await tells(name, statements, rest, true, about(statement, true)))) problems.push(`${name}: nothing needs ${what}`)
  }
  for (const [what, rest, statement] of loosened(statements)) {
    if (isDenial(statement)) continue
    if (!(await tells(name, statements, rest, false, about(statement, false)))) problems.push(`${name}: nothing is kept out by ${what}`)
  }
  for (const [what, rest, statement] of lessened(all)) {
    if (!isDenial(statement)) continue
    if (!(await tells(name, all, rest, false, about(statement, false)))) problems.push(`${name}: nothing is kept out by ${what}`)
  }
  for (const [what, rest, statement] of loosened(all)) {
    if (!isDenial(statement)) continue
    if (!(await tells(name, all, rest, true, about(statement, true)))) problems.push(`${name}: nothing needs ${what}`)
  }
}

// What AWS itself does with a function's role: no call of a function shows that it is needed.
const OF_AWS = {
  WriteOwnLogs: 'Lambda writes what a function prints to its log group',
  KeepEventsThatFailed: 'Lambda sends the event of a failed invocation to the destination on failure',
  BeWoken: 'Lambda polls the queue, and deletes what was handled',
  TakeNotices: 'Lambda polls the queue, and deletes what was handled',
  UseTheKeyOfTheTable: 'DynamoDB decrypts the key of a table in the name of whoever reads or writes it',
}

// What nobody needed while the rig ran: only cases of ours say that it is needed. No call needs to be denied.
async function unused(name, seen) {
  const statements = statementsOf(name)
  const found = []
  for (const statement of statements.filter((own) => !isDenial(own))) {
    const rest = statements.filter((own) => own !== statement)
    const needed = await Promise.all(seen.filter((one) => concerns(statement, one)).map((one) => isAllowed(name, rest, one)))
    if (needed.every((allowed) => allowed)) found.push(statement.Sid)
  }
  return found
}

if (record) {
  const { cases: all, complete } = recorded(record, names)
  for (const name of FUNCTIONS) {
    const seen = all.filter((one) => one.function === name)
    for (const one of seen) {
      judged += 1
      if (!(await isAllowed(name, statementsOf(name), one))) {
        problems.push(`${name}: ${one.action} on ${one.resource} ${JSON.stringify(one.context)} was needed in the rig and is denied`)
      }
    }
    if (!complete) continue
    for (const sid of await unused(name, seen)) {
      if (sid in OF_AWS) console.log(`${name}: no call needs ${sid}, which stays: ${OF_AWS[sid]}`)
      else problems.push(`${name}: no call of the whole rig needs ${sid}`)
    }
  }
  if (!complete) console.log('the record of the rig is of some cases only: not told which statements it does without')
}
for (const problem of problems) console.error(`error: ${problem}`)
console.log(`${judged} requests judged, ${problems.length} not as they should be`)
process.exitCode = problems.length > 0 ? 1 : 0
