// What people do with the official JavaScript client, each as one check: node checks.js CHECK, against the cluster of KUBECONFIG.
//
// NAMESPACE is where it happens, IMAGE is what pods run. A check that fails says why and ends with 1.

import assert from 'node:assert/strict';
import net from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import * as k8s from '@kubernetes/client-node';

const namespace = process.env.NAMESPACE;
const image = process.env.IMAGE;
const configuration = new k8s.KubeConfig();
configuration.loadFromDefault();
const core = configuration.makeApiClient(k8s.CoreV1Api);
const objectsOfAnyKind = k8s.KubernetesObjectApi.makeApiClient(configuration);
const path = (resource) => `/api/v1/namespaces/${namespace}/${resource}`;

async function eventually(attempt, what, seconds = 40) {
  for (const end = Date.now() + seconds * 1000; ; await sleep(100)) {
    const value = await attempt();
    if (value) return value;
    assert(Date.now() < end, `${what} did not happen in time`);
  }
}

async function refused(code, call) {
  try {
    await call();
  } catch (error) {
    assert.equal(error.code, code, String(error));
    return error;
  }
  assert.fail(`not refused with ${code}`);
}

const configMap = (name, data) => ({
  apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { check: 'javascript' } }, data,
});
const create = (name, data) => core.createNamespacedConfigMap({ namespace, body: configMap(name, data) });
const read = (name) => core.readNamespacedConfigMap({ namespace, name });

async function startPod(name, script) {
  const main = { name: 'main', image, command: ['sh', '-c', script] };
  await core.createNamespacedPod({ namespace, body: { metadata: { name }, spec: { containers: [main], terminationGracePeriodSeconds: 1 } } });
  await eventually(async () => (await core.readNamespacedPod({ namespace, name })).status.phase === 'Running', `${name} running`);
}

const checks = {
  /** Create, read, replace with a stale version, two patches, a refusal with its causes, delete. */
  async objects() {
    const made = await create('one', { a: '1' });
    await core.patchNamespacedConfigMap({ namespace, name: 'one', body: { data: { b: '2' } } },
      k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
    await core.patchNamespacedConfigMap({ namespace, name: 'one', body: [{ op: 'remove', path: '/data/a' }] },
      k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.JsonPatch));
    await refused(409, () => core.replaceNamespacedConfigMap({ namespace, name: 'one', body: made }));
    assert.deepEqual((await read('one')).data, { b: '2' });
    const error = await refused(422, () => create('Not_A_Name', {}));
    assert.equal(JSON.parse(error.body).details.causes[0].field, 'metadata.name');
    await core.deleteNamespacedConfigMap({ namespace, name: 'one' });
    await refused(404, () => read('one'));
  },

  async pages() {
    for (let number = 0; number < 7; ++number) await create(`page-${number}`, {});
    const sizes = [];
    let _continue;
    do {
      const page = await core.listNamespacedConfigMap({ namespace, labelSelector: 'check=javascript', limit: 3, _continue });
      sizes.push(page.items.length);
      _continue = page.metadata._continue;
    } while (_continue);
    assert.deepEqual(sizes, [3, 3, 1]);
  },

  /** A watch that starts at a list's version sees what came after it. */
  async watching() {
    const { resourceVersion } = (await core.listNamespacedConfigMap({ namespace })).metadata;
    await create('seen', { a: '1' });
    await core.deleteNamespacedConfigMap({ namespace, name: 'seen' });
    const verbs = [];
    const ended = Promise.withResolvers?.() ?? (() => {
      const parts = {};
      parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
      return parts;
    })();
    const watching = await new k8s.Watch(configuration).watch(path('configmaps'), { resourceVersion, timeoutSeconds: 20 }, (verb) => {
      verbs.push(verb);
      if (verb === 'DELETED') ended.resolve();
    }, (error) => ended.reject(error ?? new Error('the watch ended')));
    await ended.promise;
    watching.abort();
    assert.deepEqual(verbs, ['ADDED', 'DELETED']);
  },

  /** An informer's cache follows, also what was there before. */
  async informer() {
    await create('before', {});
    const informer = k8s.makeInformer(configuration, path('configmaps'),
      () => core.listNamespacedConfigMap({ namespace, labelSelector: 'check=javascript' }), 'check=javascript');
    await informer.start();
    await create('after', {});
    await eventually(() => informer.get('before', namespace) && informer.get('after', namespace), 'both in the cache');
    await core.deleteNamespacedConfigMap({ namespace, name: 'before' });
    await eventually(() => !informer.get('before', namespace), 'the deletion in the cache');
    await informer.stop();
  },

  /** Kinds are found by discovery; two managers apply parts of one object, and a third is told whose field it wanted. */
  async apply() {
    const apply = (manager, data) => objectsOfAnyKind.patch(configMap('shared', data), undefined, undefined, manager, false,
      k8s.PatchStrategy.ServerSideApply);
    await apply('first', { a: '1' });
    await apply('second', { b: '2' });
    const error = await refused(409, () => apply('third', { a: '3' }));
    assert.match(JSON.parse(error.body).message, /conflict with "first"/);
    await apply('first', {});
    assert.deepEqual((await read('shared')).data, { b: '2' });
  },

  /** A definition, and an object of it by a client that knows no type of it. */
  async customResources() {
    const group = `${namespace}.example.com`;
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer', maximum: 3 } } } } } };
    await configuration.makeApiClient(k8s.ApiextensionsV1Api).createCustomResourceDefinition({ body: {
      metadata: { name: `widgets.${group}` },
      spec: { group, scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' }, versions: [{ name: 'v1', served: true, storage: true, schema }] },
    } });
    const widgets = configuration.makeApiClient(k8s.CustomObjectsApi);
    const place = { group, version: 'v1', namespace, plural: 'widgets' };
    const widget = (size) => ({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'one' }, spec: { size } });
    const made = await eventually(async () => {
      try {
        return await widgets.createNamespacedCustomObject({ ...place, body: widget(2) });
      } catch (error) {
        return assert.equal(error.code, 404);
      }
    }, 'the kind is served');
    const error = await refused(422, () => widgets.replaceNamespacedCustomObject({ ...place, name: 'one', body: { ...made, spec: { size: 4 } } }));
    assert.match(error.body, /should be less than or equal to 3/);
    await configuration.makeApiClient(k8s.ApiextensionsV1Api).deleteCustomResourceDefinition({ name: `widgets.${group}` });
  },

  /** Separate outputs, input and an exit code, over WebSocket. */
  async execution() {
    await startPod('box', 'sleep 1000');
    const outputs = [new PassThrough(), new PassThrough()];
    const script = 'read line; echo got $line; echo complaint >&2; exit 3';
    const status = await new Promise((resolve, reject) => {
      new k8s.Exec(configuration).exec(namespace, 'box', 'main', ['sh', '-c', script], ...outputs, Readable.from(['words\n']), false, resolve)
        .catch(reject);
    });
    for (const output of outputs) output.end();
    assert.deepEqual(await Promise.all(outputs.map(text)), ['got words\n', 'complaint\n']);
    assert.deepEqual(status.details.causes, [{ reason: 'ExitCode', message: '3' }]);
  },

  async logs() {
    await startPod('talk', 'for i in 1 2 3; do echo line $i; sleep 0.3; done');
    const output = new PassThrough();
    await new k8s.Log(configuration).log(namespace, 'talk', 'main', output, { follow: true });
    assert.equal(await text(output), 'line 1\nline 2\nline 3\n');
  },

  /** A pod's port as a port of this machine, as the client's own example does it. */
  async forwarding() {
    await startPod('web', 'mkdir -p /tmp/www && echo page > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www');
    const forward = new k8s.PortForward(configuration);
    const server = net.createServer((socket) => forward.portForward(namespace, 'web', [8080], socket, null, socket));
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    await eventually(async () => {
      const answer = await fetch(`http://127.0.0.1:${server.address().port}/`).catch(() => null);
      return answer && await answer.text() === 'page\n';
    }, 'the page');
    server.close();
  },
};

const check = checks[process.argv[2]];
if (!check) {
  console.error(`usage: node checks.js CHECK, one of ${Object.keys(checks).join(' ')}`);
  process.exit(2);
}
try {
  await check();
  process.exit(0);
} catch (error) {
  console.error(`${process.argv[2]}: ${error.stack ?? error}`);
  process.exit(1);
}
