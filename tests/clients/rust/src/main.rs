//! What people do with kube, Rust's client, each as one check: checks CHECK, against the cluster of KUBECONFIG.
//!
//! NAMESPACE is where it happens, IMAGE is what pods run. A check that fails says why and ends with 1.

use std::{collections::BTreeMap, env, future::Future, process::exit, time::Duration};

use futures::{AsyncBufReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    api::{Api, AttachParams, DeleteParams, DynamicObject, ListParams, LogParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    discovery,
    runtime::{
        reflector, watcher,
        wait::{await_condition, conditions},
        WatchStreamExt,
    },
    Client, CustomResource, CustomResourceExt,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PATIENCE: Duration = Duration::from_secs(40);

fn namespace() -> String {
    env::var("NAMESPACE").unwrap_or_default()
}

fn data(pairs: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
    Some(pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect())
}

fn config_map(name: &str, pairs: &[(&str, &str)]) -> ConfigMap {
    let mut object = ConfigMap { data: data(pairs), ..Default::default() };
    object.metadata.name = Some(name.into());
    object.metadata.labels = data(&[("check", "rust")]);
    object
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), &namespace())
}

async fn create(client: &Client, name: &str) -> kube::Result<ConfigMap> {
    maps(client).create(&PostParams::default(), &config_map(name, &[("a", "1")])).await
}

async fn refused<T: std::fmt::Debug>(code: u16, call: impl Future<Output = kube::Result<T>>) -> String {
    match call.await {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, code, "{status:?}");
            format!("{status:?}")
        }
        other => panic!("not refused with {code}: {other:?}"),
    }
}

async fn eventually<F: Future<Output = bool>>(what: &str, attempt: impl Fn() -> F) {
    let wait = async {
        while !attempt().await {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{what} did not happen in time"));
}

async fn start_pod(client: &Client, name: &str, script: &str) -> Result<Api<Pod>, Box<dyn std::error::Error>> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace());
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [
        {"name": "main", "image": env::var("IMAGE")?, "command": ["sh", "-c", script]}]}}))?;
    pods.create(&PostParams::default(), &pod).await?;
    timeout(PATIENCE, await_condition(pods.clone(), name, conditions::is_pod_running())).await??;
    Ok(pods)
}

/// Create, two patches, replace with a stale version, a refusal with its causes, delete.
async fn objects(client: Client) -> Outcome {
    let made = create(&client, "one").await?;
    let maps = maps(&client);
    maps.patch("one", &PatchParams::default(), &Patch::Merge(json!({"data": {"a": null, "b": "2"}}))).await?;
    maps.patch("one", &PatchParams::default(), &Patch::Strategic(json!({"data": {"c": "3"}}))).await?;
    refused(409, maps.replace("one", &PostParams::default(), &made)).await;
    assert_eq!(maps.get("one").await?.data, data(&[("b", "2"), ("c", "3")]));
    let error = refused(422, create(&client, "Not_A_Name")).await;
    assert!(error.contains("metadata.name"), "{error}");
    maps.delete("one", &DeleteParams::default()).await?;
    assert!(maps.get_opt("one").await?.is_none());
    Ok(())
}

async fn pages(client: Client) -> Outcome {
    for number in 0..7 {
        create(&client, &format!("page-{number}")).await?;
    }
    let (mut sizes, mut parameters) = (Vec::new(), ListParams::default().labels("check=rust").limit(3));
    loop {
        let page = maps(&client).list(&parameters).await?;
        sizes.push(page.items.len());
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(sizes, [3, 3, 1]);
    Ok(())
}

async fn watching(client: Client) -> Outcome {
    let maps = maps(&client);
    let version = maps.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
    create(&client, "seen").await?;
    maps.delete("seen", &DeleteParams::default()).await?;
    let mut events = maps.watch(&WatchParams::default().timeout(20), &version).await?.boxed();
    let mut verbs = Vec::new();
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(_) => verbs.push("added"),
            WatchEvent::Modified(_) => verbs.push("modified"),
            WatchEvent::Deleted(_) => {
                verbs.push("deleted");
                break;
            }
            _ => {}
        }
    }
    assert_eq!(verbs, ["added", "deleted"]);
    Ok(())
}

/// A reflector's store follows, also where its first list is a watch.
async fn following(client: Client) -> Outcome {
    create(&client, "before").await?;
    for configuration in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let (reader, writer) = reflector::store();
        let stream = watcher(maps(&client), configuration).default_backoff().reflect(writer).applied_objects();
        let follow = tokio::spawn(stream.for_each(|_| async {}));
        timeout(PATIENCE, reader.wait_until_ready()).await??;
        let has = |name: &str| reader.state().iter().any(|found| found.metadata.name.as_deref() == Some(name));
        assert!(has("before"));
        create(&client, "after").await?;
        eventually("the new one in the store", || async { has("after") }).await;
        maps(&client).delete("after", &DeleteParams::default()).await?;
        eventually("the deletion in the store", || async { !has("after") }).await;
        follow.abort();
    }
    Ok(())
}

async fn apply(client: Client) -> Outcome {
    let maps = maps(&client);
    let patch = |pairs| Patch::Apply(config_map("shared", pairs));
    maps.patch("shared", &PatchParams::apply("first"), &patch(&[("a", "1")])).await?;
    maps.patch("shared", &PatchParams::apply("second"), &patch(&[("b", "2")])).await?;
    let error = refused(409, maps.patch("shared", &PatchParams::apply("third"), &patch(&[("a", "3")]))).await;
    assert!(error.contains("first"), "{error}");
    let found = maps.patch("shared", &PatchParams::apply("third").force(), &patch(&[("a", "3")])).await?;
    assert_eq!(found.data, data(&[("a", "3"), ("b", "2")]));
    Ok(())
}

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[kube(group = "rust.example.com", version = "v1", kind = "Gadget", namespaced, status = "GadgetStatus")]
struct GadgetSpec {
    #[schemars(range(max = 3))]
    size: i32,
}

#[derive(Clone, Debug, Deserialize, Serialize, schemars::JsonSchema)]
struct GadgetStatus {
    ready: bool,
}

/// A definition made of Rust's types, its objects and their status.
async fn custom_resources(client: Client) -> Outcome {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.patch("gadgets.rust.example.com", &PatchParams::apply("rust"), &Patch::Apply(Gadget::crd())).await?;
    timeout(PATIENCE, await_condition(definitions.clone(), "gadgets.rust.example.com", conditions::is_crd_established())).await??;
    let gadgets: Api<Gadget> = Api::namespaced(client.clone(), &namespace());
    gadgets.create(&PostParams::default(), &Gadget::new("one", GadgetSpec { size: 2 })).await?;
    let error = refused(422, gadgets.patch("one", &PatchParams::default(), &Patch::Merge(json!({"spec": {"size": 4}})))).await;
    assert!(error.contains("should be less than or equal to 3"), "{error}");
    gadgets.patch_status("one", &PatchParams::default(), &Patch::Merge(json!({"status": {"ready": true}}))).await?;
    assert!(gadgets.get("one").await?.status.is_some_and(|status| status.ready));
    definitions.delete("gadgets.rust.example.com", &DeleteParams::default()).await?;
    Ok(())
}

/// A kind found by discovery, without a type.
async fn untyped(client: Client) -> Outcome {
    let group = discovery::group(&client, "coordination.k8s.io").await?;
    let (resource, _) = group.recommended_kind("Lease").expect("leases are served");
    let leases: Api<DynamicObject> = Api::namespaced_with(client, &namespace(), &resource);
    let lease = DynamicObject::new("one", &resource).data(json!({"spec": {"holderIdentity": "me"}}));
    leases.create(&PostParams::default(), &lease).await?;
    assert_eq!(leases.get("one").await?.data["spec"]["holderIdentity"], "me");
    Ok(())
}

/// Separate outputs, input and an exit code, over WebSocket.
async fn execution(client: Client) -> Outcome {
    let pods = start_pod(&client, "box", "sleep 1000").await?;
    let script = "read line; echo got $line; echo complaint >&2; exit 3";
    let mut running = pods.exec("box", ["sh", "-c", script], &AttachParams::default().stdin(true).stderr(true)).await?;
    running.stdin().expect("an input").write_all(b"words\n").await?;
    let (mut output, mut errors) = (String::new(), String::new());
    let (mut from_output, mut from_errors) = (running.stdout().expect("an output"), running.stderr().expect("an error output"));
    let status = running.take_status().expect("a status");
    tokio::try_join!(from_output.read_to_string(&mut output), from_errors.read_to_string(&mut errors))?;
    assert_eq!((output.as_str(), errors.as_str()), ("got words\n", "complaint\n"));
    let status = format!("{:?}", timeout(PATIENCE, status).await?);
    assert!(status.contains("NonZeroExitCode") && status.contains("\"3\""), "{status}");
    Ok(())
}

async fn logs(client: Client) -> Outcome {
    let pods = start_pod(&client, "talk", "for i in 1 2 3; do echo line $i; sleep 0.3; done").await?;
    let lines = pods.log_stream("talk", &LogParams { follow: true, ..Default::default() }).await?.lines();
    assert_eq!(lines.try_collect::<Vec<_>>().await?, ["line 1", "line 2", "line 3"]);
    Ok(())
}

async fn forwarding(client: Client) -> Outcome {
    let page = "mkdir -p /tmp/www && echo page > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www";
    let pods = start_pod(&client, "web", page).await?;
    let fetch = || async {
        let mut forward = pods.portforward("web", &[8080]).await.ok()?;
        let mut stream = forward.take_stream(8080)?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.ok()?;
        Some(text)
    };
    eventually("the page", || async { fetch().await.is_some_and(|text| text.ends_with("page\n")) }).await;
    Ok(())
}

#[tokio::main]
async fn main() {
    let name = env::args().nth(1).unwrap_or_default();
    let client = Client::try_default().await.expect("a kubeconfig");
    let outcome = match name.as_str() {
        "objects" => objects(client).await,
        "pages" => pages(client).await,
        "watching" => watching(client).await,
        "following" => following(client).await,
        "apply" => apply(client).await,
        "custom_resources" => custom_resources(client).await,
        "untyped" => untyped(client).await,
        "execution" => execution(client).await,
        "logs" => logs(client).await,
        "forwarding" => forwarding(client).await,
        _ => {
            eprintln!("usage: checks CHECK; there is no check \"{name}\"");
            exit(2);
        }
    };
    if let Err(error) = outcome {
        eprintln!("{name}: {error}");
        exit(1);
    }
}
