#include "kubelet/static_pods.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/result.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"

namespace porthole::kubelet {
namespace {

constexpr Duration ReadPeriod = std::chrono::seconds(2);

/// Defaults that look at other fields and that the API server would have set.
void complete(core::Pod& pod) {
    for (auto* list : {&pod.spec.init_containers, &pod.spec.containers}) {
        for (core::Container& container : *list) {
            for (const auto& [name, limit] : container.resources.limits) container.resources.requests.emplace(name, limit);
            for (core::ContainerPort& port : container.ports)
                if (pod.spec.host_network && port.host_port == 0) port.host_port = port.container_port;
        }
    }
    if (!pod.spec.enable_service_links) pod.spec.enable_service_links = true;
}

bool is_manifest(const std::string& name) {
    return !name.starts_with('.') && (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json"));
}

}  // namespace

Result<core::Pod> parse_static_pod(const std::string& text, const std::string& path, const std::string& node_name) {
    TRY(schema::Value value, schema::parse_yaml(text));
    if (value.string_at({"kind"}) != "Pod" || value.string_at({"apiVersion"}) != "v1")
        return Error(Reason::BadRequest, path + " is not a v1 Pod");
    schema::apply_table_defaults(value, core::Pod::schema_type());
    TRY(core::Pod pod, schema::from_value<core::Pod>(value));
    if (pod.metadata.name.empty()) return Error(Reason::BadRequest, path + ": metadata.name is missing");
    if (pod.spec.containers.empty()) return Error(Reason::BadRequest, path + ": spec.containers is empty");
    complete(pod);
    const std::string hash = to_lower(content_hash(schema::encode_json(pod) + "\n" + node_name + "\n" + path));
    if (pod.metadata.uid.empty()) pod.metadata.uid = hash;
    pod.metadata.name += "-" + to_lower(node_name);
    if (pod.metadata.namespace_.empty()) pod.metadata.namespace_ = "default";
    pod.metadata.annotations[ConfigHashAnnotation] = hash;
    pod.metadata.annotations[ConfigSourceAnnotation] = "file";
    pod.spec.node_name = node_name;
    core::Toleration everything;
    everything.operator_ = "Exists";
    everything.effect = "NoExecute";
    pod.spec.tolerations.push_back(everything);
    pod.status = {};
    return pod;
}

StaticPods::StaticPods(EventLoop& loop, client::Client& client, FileSystem& files, Logger log, std::string directory, std::string node_name,
                       PodManager& pods, StatusManager& statuses)
    : loop_(loop),
      client_(client),
      files_(files),
      log_(std::move(log)),
      directory_(std::move(directory)),
      node_name_(std::move(node_name)),
      pods_(pods),
      statuses_(statuses) {}

Task<> StaticPods::run() {
    for (;;) {
        if (!directory_.empty()) read_directory();
        first_read_.set();
        auto kept = co_await keep_mirrors();
        if (is_cancelled(kept)) co_return std::move(kept).error();
        if (!kept) log_.debug("mirror pods cannot be kept", {{"error", kept.error().message}});
        CO_TRY_VOID(co_await loop_.sleep(ReadPeriod));
    }
}

void StaticPods::read_directory() {
    std::set<std::string> present;
    for (const std::string& name : files_.list(directory_).value_or(std::vector<std::string>())) {
        if (!is_manifest(name)) continue;
        const std::string path = join_path(directory_, name);
        const auto text = files_.read(path, 1 << 20);
        if (!text) {
            log_.warn("manifest cannot be read", {{"path", path}, {"error", text.error().message}});
            continue;
        }
        present.insert(path);
        if (const auto known = texts_.find(path); known == texts_.end() || known->second != *text) take(path, *text);
    }
    for (auto at = by_file_.begin(); at != by_file_.end();) {
        if (present.contains(at->first)) {
            ++at;
            continue;
        }
        pods_.remove(at->second->metadata.uid);
        texts_.erase(at->first);
        at = by_file_.erase(at);
    }
}

void StaticPods::take(const std::string& path, const std::string& text) {
    texts_[path] = text;
    auto pod = parse_static_pod(text, path, node_name_);
    if (!pod) {
        log_.error("manifest is not a pod that can run", {{"path", path}, {"error", pod.error().message}});
        return;
    }
    auto shared = std::make_shared<core::Pod>(std::move(*pod));
    shared->metadata.annotations[ConfigSeenAnnotation] = Timestamp(loop_.wall_now()).to_string();
    if (const auto before = by_file_.find(path); before != by_file_.end() && before->second->metadata.uid != shared->metadata.uid)
        pods_.remove(before->second->metadata.uid);
    by_file_[path] = shared;
    pods_.update(shared);
}

void StaticPods::observe_mirror(const core::Pod& mirror) {
    mirrors_[client::key_of(mirror)] = mirror;
    for (const auto& [path, pod] : by_file_)
        if (client::key_of(*pod) == client::key_of(mirror)) statuses_.observe(pod->metadata.uid, mirror);
}

void StaticPods::drop_mirror(const core::Pod& mirror) {
    mirrors_.erase(client::key_of(mirror));
    for (const auto& [path, pod] : by_file_)
        if (client::key_of(*pod) == client::key_of(mirror)) statuses_.unobserve(pod->metadata.uid);
}

Task<> StaticPods::keep_mirrors() {
    std::vector<std::shared_ptr<const core::Pod>> wanted;
    for (const auto& [path, pod] : by_file_) wanted.push_back(pod);
    for (const auto& pod : wanted) CO_TRY_VOID(co_await keep_mirror(pod));
    std::vector<core::Pod> stale;
    for (const auto& [key, mirror] : mirrors_) {
        const bool has_pod = std::any_of(wanted.begin(), wanted.end(), [&](const auto& pod) { return client::key_of(*pod) == key; });
        if (!has_pod) stale.push_back(mirror);
    }
    for (const core::Pod& mirror : stale) {
        client::DeleteOptions options;
        options.uid = mirror.metadata.uid;
        options.grace_period_seconds = 0;
        CO_TRY_VOID(ignore_not_found(co_await client_.remove<core::Pod>(client::key_of(mirror), std::move(options))));
    }
    co_return {};
}

/// Makes the mirror of a pod, or takes away one of other contents (or that somebody has deleted) to make it anew.
Task<> StaticPods::keep_mirror(std::shared_ptr<const core::Pod> pod) {
    const std::string hash = pod->metadata.annotations.at(ConfigHashAnnotation);
    const client::NamespacedName key = client::key_of(*pod);
    if (const auto there = mirrors_.find(key); there != mirrors_.end()) {
        const core::Pod& mirror = there->second;
        const auto mirrored = mirror.metadata.annotations.find(ConfigMirrorAnnotation);  // a webhook may have taken it away
        const bool current =
            mirrored != mirror.metadata.annotations.end() && mirrored->second == hash && !mirror.metadata.deletion_timestamp;
        if (current) co_return {};
        client::DeleteOptions options;
        options.uid = mirror.metadata.uid;
        options.grace_period_seconds = 0;
        CO_TRY_VOID(ignore_not_found(co_await client_.remove<core::Pod>(key, std::move(options))));
        mirrors_.erase(key);
    }
    if (!node_) {
        CO_TRY(node_, co_await client_.get<core::Node>({"", node_name_}));
    }
    core::Pod mirror = *pod;
    mirror.metadata.uid.clear();
    mirror.metadata.annotations[ConfigMirrorAnnotation] = hash;
    auto& owner = mirror.metadata.owner_references.emplace_back();
    owner.api_version = "v1";
    owner.kind = "Node";
    owner.name = node_name_;
    owner.uid = node_->metadata.uid;
    owner.controller = true;
    auto made = co_await client_.create(std::move(mirror));
    if (!made && made.error().reason == Reason::AlreadyExists) co_return {};
    if (!made) co_return std::move(made).error();
    observe_mirror(*made);
    co_return {};
}

}  // namespace porthole::kubelet
