// What each function asks AWS for, as `shared/aws` and `shared/ec2` send it, and what it must not get.
//
// A case is {may, action, resource, context}: `may` names the functions that are allowed; all others are denied. Resources are
// of names in capitals that are put in later: REGION, ACCOUNT, TABLE and others; SHARER is another account.

export const CLUSTER = 'shop'
const SERVES = ['provisioning', 'lifecycle', 'disruption', 'interruption']
const KNOWS_OFFERINGS = [...SERVES, 'catalog']
export const FUNCTIONS = [...KNOWS_OFFERINGS, 'watcher']

const tags = (kind, values) => Object.fromEntries(Object.entries(values).map(([key, value]) => [`aws:${kind}Tag/${key}`, value]))
const NODE = { 'eks:eks-cluster-name': CLUSTER, 'karpenter.k8s.aws/ec2nodeclass': 'default' }
const TEMPLATE = { 'outrigger.dev/cluster': CLUSTER }
const HERE = { 'aws:RequestedRegion': 'REGION' }
const ec2 = (path, account = 'ACCOUNT') => `arn:aws:ec2:REGION:${account}:${path}`
const keys = (...partitions) => ({ 'dynamodb:LeadingKeys': partitions })

const cases = []
const allow = (may, action, resource, context = {}) => cases.push({ may, action, resource, context })
const deny = (action, resource, context = {}) => cases.push({ may: [], action, resource, context })

// --- Launches, and the dry runs of them.
// A subnet or group of the VPC that nodes may be in; what a launch template names, rather than the request.
export const IN_VPC = { 'ec2:Vpc': 'arn:aws:ec2:REGION:ACCOUNT:vpc/VPC' }
export const OF_TEMPLATE = { 'ec2:IsLaunchTemplateResource': 'true' }
const MADE = ['fleet/fleet-1', 'instance/*', 'volume/*', 'network-interface/*', 'spot-instances-request/*']
const NETWORKS = [ec2('subnet/subnet-1', 'SHARER'), ec2('security-group/sg-1')]
const NAMED = [ec2('image/ami-1', ''), ec2('snapshot/snap-1', ''), ec2('placement-group/near'), ec2('capacity-reservation/cr-1', 'SHARER')]
const NOT_OF_FLEETS = ['network-interface', 'security-group', 'snapshot', 'spot-instances-request']
for (const action of ['ec2:CreateFleet', 'ec2:RunInstances']) {
  const knows = (resource) => action === 'ec2:RunInstances' ? !resource.includes(':fleet/') : !NOT_OF_FLEETS.some((own) => resource.includes(`:${own}/`))
  for (const resource of MADE.map((path) => ec2(path)).filter(knows)) {
    allow(SERVES, action, resource, tags('Request', NODE))
    deny(action, resource, {})
    deny(action, resource, tags('Request', { ...NODE, 'eks:eks-cluster-name': 'other' }))
    deny(action, resource, tags('Request', { 'eks:eks-cluster-name': CLUSTER }))
  }
  for (const resource of NETWORKS.filter(knows)) {
    allow(SERVES, action, resource, IN_VPC)
    deny(action, resource, { 'ec2:Vpc': 'arn:aws:ec2:REGION:ACCOUNT:vpc/vpc-another' })
    deny(action, resource, {})
  }
  for (const resource of NAMED.filter(knows)) {
    // Whose they are, EC2 says of launches only.
    allow(SERVES, action, resource, action === 'ec2:RunInstances' ? OF_TEMPLATE : {})
  }
  allow(SERVES, action, ec2('launch-template/lt-1'), tags('Resource', TEMPLATE))
  deny(action, ec2('launch-template/lt-1'), tags('Resource', { 'outrigger.dev/cluster': 'other' }))
}
for (const resource of NAMED) {
  deny('ec2:RunInstances', resource, { 'ec2:IsLaunchTemplateResource': 'false' })
  deny('ec2:RunInstances', resource, {})
}
allow(SERVES, 'ec2:RunInstances', ec2('subnet/subnet-1'), { ...IN_VPC, 'ec2:IsLaunchTemplateResource': 'false' })
allow(SERVES, 'ec2:CreateLaunchTemplate', ec2('launch-template/*'), tags('Request', TEMPLATE))
deny('ec2:CreateLaunchTemplate', ec2('launch-template/*'), tags('Request', { 'outrigger.dev/cluster': 'other' }))
for (const action of ['CreateFleet', 'RunInstances']) {
  for (const path of MADE) {
    allow(SERVES, 'ec2:CreateTags', ec2(path), { ...tags('Request', NODE), 'ec2:CreateAction': action })
  }
}
allow(SERVES, 'ec2:CreateTags', ec2('launch-template/*'), { ...tags('Request', TEMPLATE), 'ec2:CreateAction': 'CreateLaunchTemplate' })
deny('ec2:CreateTags', ec2('launch-template/lt-1'), tags('Request', TEMPLATE))
deny('ec2:CreateTags', ec2('launch-template/*'), { ...tags('Request', { 'outrigger.dev/cluster': 'other' }), 'ec2:CreateAction': 'CreateLaunchTemplate' })
deny('ec2:CreateTags', ec2('volume/vol-1'), tags('Request', NODE))
deny('ec2:CreateTags', ec2('volume/*'), { ...tags('Request', { 'eks:eks-cluster-name': 'other' }), 'ec2:CreateAction': 'RunInstances' })
const pass = (service) => ({ 'iam:PassedToService': service })
allow(SERVES, 'iam:PassRole', 'NODE_ROLE', pass('ec2.amazonaws.com'))
allow(SERVES, 'iam:PassRole', 'arn:aws:iam::ACCOUNT:role/KarpenterNodeRole-shop', pass('ec2.amazonaws.com'))
allow(SERVES, 'iam:PassRole', 'NODE_ROLE', pass('ec2.amazonaws.com.cn'))
allow(SERVES, 'iam:PassRole', 'arn:aws:iam::ACCOUNT:role/outrigger/outrigger/of-another-cluster', pass('ec2.amazonaws.com'))
deny('iam:PassRole', 'NODE_ROLE', pass('lambda.amazonaws.com'))
deny('iam:PassRole', 'arn:aws:iam::ACCOUNT:role/outrigger/another-installation/nodes', pass('ec2.amazonaws.com'))
deny('iam:PassRole', 'arn:aws:iam::ACCOUNT:role/Administrator', pass('ec2.amazonaws.com'))

// --- What is looked at.
for (const action of ['DescribeCapacityReservations', 'DescribeInstances', 'DescribeInstanceStatus', 'DescribeLaunchTemplates', 'DescribeSubnets']) {
  allow(SERVES, `ec2:${action}`, '*', HERE)
}
for (const action of ['DescribeImages', 'DescribePlacementGroups', 'DescribeSecurityGroups']) {
  allow(['lifecycle'], `ec2:${action}`, '*', HERE)
}
for (const action of ['DescribeInstanceTypes', 'DescribeInstanceTypeOfferings', 'DescribeSpotPriceHistory']) {
  allow(['catalog'], `ec2:${action}`, '*', HERE)
}
for (const action of ['DescribeSubnets', 'DescribeImages', 'DescribeInstanceTypes']) {
  deny(`ec2:${action}`, '*', { 'aws:RequestedRegion': 'us-west-2' })
}
allow(['catalog'], 'pricing:GetProducts', '*')
allow(['lifecycle'], 'ssm:GetParameters', 'arn:aws:ssm:REGION::parameter/aws/service/eks/optimized-ami/1.34/x')
deny('ssm:GetParameters', 'arn:aws:ssm:REGION:ACCOUNT:parameter/password')
allow([...SERVES, 'watcher'], 'eks:DescribeCluster', 'arn:aws:eks:REGION:ACCOUNT:cluster/shop')
deny('eks:UpdateClusterConfig', 'arn:aws:eks:REGION:ACCOUNT:cluster/shop')

// --- Instances and templates at their end.
const ENDS = ['lifecycle', 'interruption']
const LIFE = ['lifecycle']
allow(ENDS, 'ec2:TerminateInstances', ec2('instance/i-1'), tags('Resource', NODE))
allow(ENDS, 'ec2:TerminateInstances', ec2('instance/i-1'), tags('Resource', { ...NODE, 'eks:eks-cluster-name': 'team-a' }))
deny('ec2:TerminateInstances', ec2('instance/i-1'), {})
deny('ec2:TerminateInstances', ec2('instance/i-1'), tags('Resource', { ...NODE, 'eks:eks-cluster-name': 'other' }))
deny('ec2:TerminateInstances', ec2('instance/i-1'), tags('Resource', { 'eks:eks-cluster-name': CLUSTER }))
const naming = (extra) => ({
  ...tags('Resource', NODE), ...tags('Request', { Name: 'ip-1', 'karpenter.sh/nodeclaim': 'c', 'eks:eks-cluster-name': CLUSTER }),
  'aws:TagKeys': ['Name', 'karpenter.sh/nodeclaim', 'eks:eks-cluster-name'], ...extra,
})
allow(ENDS, 'ec2:CreateTags', ec2('instance/i-1'), naming({}))
deny('ec2:CreateTags', ec2('instance/i-1'), naming({ 'aws:TagKeys': ['Name', 'owner', 'eks:eks-cluster-name'] }))
deny('ec2:CreateTags', ec2('instance/i-1'), naming({ 'aws:RequestTag/eks:eks-cluster-name': 'other' }))
deny('ec2:CreateTags', ec2('instance/i-1'), naming({ 'aws:ResourceTag/eks:eks-cluster-name': 'other' }))
const withoutClass = naming({})
delete withoutClass['aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass']
deny('ec2:CreateTags', ec2('instance/i-1'), withoutClass)
allow(LIFE, 'ec2:DeleteLaunchTemplate', ec2('launch-template/lt-1'), tags('Resource', TEMPLATE))
deny('ec2:DeleteLaunchTemplate', ec2('launch-template/lt-1'), tags('Resource', NODE))
deny('ec2:StopInstances', ec2('instance/i-1'), tags('Resource', NODE))

// --- Instance profiles.
const OWN = 'arn:aws:iam::ACCOUNT:instance-profile/karpenter/REGION/shop/uid/shop_1'
const REGION_TAG = { 'topology.kubernetes.io/region': 'REGION' }
const profile = (kind, cluster = CLUSTER, region = REGION_TAG) => tags(kind, { 'eks:eks-cluster-name': cluster, ...region })
allow(LIFE, 'iam:GetInstanceProfile', 'arn:aws:iam::ACCOUNT:instance-profile/shop_1')
allow(LIFE, 'iam:ListInstanceProfiles', '*')
for (const action of ['iam:CreateInstanceProfile', 'iam:TagInstanceProfile']) {
  allow(LIFE, action, OWN, profile('Request'))
  deny(action, 'arn:aws:iam::ACCOUNT:instance-profile/Administrator', profile('Request'))
  deny(action, OWN, profile('Request', 'other'))
  deny(action, OWN, profile('Request', CLUSTER, { 'topology.kubernetes.io/region': 'us-west-2' }))
}
for (const action of ['iam:AddRoleToInstanceProfile', 'iam:RemoveRoleFromInstanceProfile', 'iam:DeleteInstanceProfile']) {
  allow(LIFE, action, OWN, profile('Resource'))
  deny(action, OWN, profile('Resource', 'other'))
  deny(action, OWN, profile('Resource', CLUSTER, { 'topology.kubernetes.io/region': 'us-west-2' }))
}
deny('iam:CreateRole', 'arn:aws:iam::ACCOUNT:role/any')

// --- Records.
const through = (service) => ({ 'kms:ViaService': service })
for (const action of ['kms:Decrypt', 'kms:DescribeKey']) {
  allow(FUNCTIONS, action, 'KMS_KEY', through('dynamodb.REGION.amazonaws.com'))
  deny(action, 'KMS_KEY', through('ec2.REGION.amazonaws.com'))
  deny(action, 'KMS_KEY', {})
  deny(action, 'arn:aws:kms:REGION:ACCOUNT:key/another', through('dynamodb.REGION.amazonaws.com'))
}
deny('kms:Encrypt', 'KMS_KEY', through('dynamodb.REGION.amazonaws.com'))
for (const action of ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem', 'BatchWriteItem']) {
  allow(action === 'GetItem' ? [...SERVES, 'watcher'] : SERVES, `dynamodb:${action}`, 'TABLE', keys(CLUSTER))
  deny(`dynamodb:${action}`, 'TABLE', keys('other'))
  deny(`dynamodb:${action}`, 'arn:aws:dynamodb:REGION:ACCOUNT:table/another', keys(CLUSTER))
}
for (const action of ['GetItem', 'Query', 'UpdateItem']) allow(action === 'UpdateItem' ? KNOWS_OFFERINGS : FUNCTIONS, `dynamodb:${action}`, 'TABLE', keys('region/eu-west-1'))
for (const action of ['PutItem', 'BatchWriteItem']) allow(['catalog'], `dynamodb:${action}`, 'TABLE', keys('region/eu-west-1'))
allow(['interruption'], 'dynamodb:Query', 'TABLE/index/instance', keys('i-1'))
for (const action of ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'BatchWriteItem']) {
  deny(`dynamodb:${action}`, 'arn:aws:dynamodb:REGION:ACCOUNT:table/another', keys('region/eu-west-1'))
}
deny('dynamodb:Query', 'arn:aws:dynamodb:REGION:ACCOUNT:table/another/index/instance', keys('i-1'))
deny('dynamodb:DeleteItem', 'TABLE', keys('region/eu-west-1'))
deny('dynamodb:Scan', 'TABLE', {})
deny('dynamodb:DeleteTable', 'TABLE', {})

// --- Messages and logs.
for (const action of ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes']) allow(['interruption'], `sqs:${action}`, 'QUEUE')
allow(FUNCTIONS.filter((own) => own !== 'interruption'), 'sqs:SendMessage', 'FAILED_EVENTS')
for (const action of ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes']) {
  allow(['provisioning'], `sqs:${action}`, 'PROVISIONING_WAKES')
  allow(['lifecycle'], `sqs:${action}`, 'LIFECYCLE_WAKES')
  allow(['disruption'], `sqs:${action}`, 'DISRUPTION_WAKES')
}
allow(['provisioning', 'watcher'], 'sqs:SendMessage', 'PROVISIONING_WAKES')
allow(SERVES, 'sqs:SendMessage', 'LIFECYCLE_WAKES')
allow(['lifecycle', 'disruption'], 'sqs:SendMessage', 'DISRUPTION_WAKES')
for (const action of ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'SendMessage']) deny(`sqs:${action}`, 'arn:aws:sqs:REGION:ACCOUNT:another')
deny('sqs:SendMessage', 'QUEUE')
for (const own of FUNCTIONS) {
  const stream = `arn:aws:logs:REGION:ACCOUNT:log-group:/aws/lambda/outrigger-${own}:log-stream:x`
  for (const action of ['CreateLogStream', 'PutLogEvents']) allow([own], `logs:${action}`, stream)
}
deny('logs:CreateLogGroup', 'arn:aws:logs:REGION:ACCOUNT:log-group:/aws/lambda/any')

export { cases }
