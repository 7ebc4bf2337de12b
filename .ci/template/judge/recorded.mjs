// What functions needed while the end-to-end rig ran, as its record (calls.json) has it: permissions, each with the function, in the
// names of the template's stack.

import { readFileSync } from 'node:fs'
import { CLUSTER, IN_VPC, OF_TEMPLATE } from './cases.mjs'

const mapped = (value, change) => (Array.isArray(value) ? value.map(change) : change(value))

// What EC2 tells of a launch and the rig does not: it has one VPC, and every launch of it takes its image from a launch template.
function toldByEc2({ action, resource }) {
  if (/:(subnet|security-group)\//.test(resource)) return IN_VPC
  if (action === 'ec2:RunInstances' && /:(image|snapshot|placement-group|capacity-reservation)\//.test(resource)) return OF_TEMPLATE
  return {}
}

export function recorded(path, names) {
  const { permissions, names: rig, complete } = JSON.parse(readFileSync(path, 'utf8'))
  const renamed = (text) => ['TABLE', 'NODE_ROLE', 'PROVISIONING_WAKES', 'LIFECYCLE_WAKES', 'DISRUPTION_WAKES', 'REGION', 'ACCOUNT'].reduce((whole, name) => whole.replaceAll(rig[name], names[name]), text)
  const resource = (text) => renamed(text).replace(`/${rig.CLUSTER}/`, `/${CLUSTER}/`).replace(`:cluster/${rig.CLUSTER}`, `:cluster/${CLUSTER}`)
  const fact = (text) => (text === rig.CLUSTER ? CLUSTER : renamed(text))
  const cases = permissions.map((own) => ({
    function: own.function,
    action: own.action,
    resource: resource(own.resource),
    context: { ...toldByEc2(own), ...Object.fromEntries(Object.entries(own.context).map(([key, value]) => [key, mapped(value, fact)])) },
  }))
  return { cases, complete }
}
