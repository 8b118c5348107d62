// The Node client of RocketMQ 5 at work: `node main.cjs ADDRESS SUFFIX SCENARIO...` runs scenarios side by side and
// prints what the client observes, one line "SCENARIO<tab>OBSERVATION" each, and "SCENARIO<tab>!end" or "!failed" last.
// Topics and groups of these names are there already.
'use strict';
const { Lab } = require('./lab.cjs');
const scenarios = require('./scenarios.cjs');

async function run(lab) {
  try {
    await scenarios[lab.scenario](lab);
    lab.say('!end');
  } catch (error) {
    lab.say(`!failed ${String(error.stack).replaceAll('\n', ' | ')}`);
  }
  await lab.close();
}

const [address, suffix, ...names] = process.argv.slice(2);
Promise.all(names.map(name => run(new Lab(address, suffix, name)))).then(() => process.exit(0));
