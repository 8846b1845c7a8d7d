#include "cmd/sample/sample.h"

#include <algorithm>

#include "base/result.h"
#include "objects/conditions.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"

namespace porthole::cmd::sample {

using namespace std::chrono_literals;
namespace {

constexpr const char* SystemLabel = "kubernetes.io/os";

bool has_labels(const core::Node& node, const std::map<std::string, std::string>& labels) {
    return std::ranges::all_of(labels, [&](const auto& label) {
        const auto found = node.metadata.labels.find(label.first);
        return found != node.metadata.labels.end() && found->second == label.second;
    });
}

/// Why none of `nodes` can run what selects `labels`, and what to do about it.
std::string why_left_out(const std::vector<core::Node>& nodes, const std::map<std::string, std::string>& labels) {
    const auto system = labels.find(SystemLabel);
    const bool windows = system != labels.end() && system->second == "windows";
    if (!windows) return "no Linux node is Ready; `kubectl get nodes` and `porthole status` say more";
    const auto runs_windows = [&](const core::Node& node) { return objects::is_ready(node) && has_labels(node, {*system}); };
    if (std::ranges::any_of(nodes, runs_windows))
        return "real Windows hosts need an image with Microsoft's base layers, which cannot be part of porthole; "
               "docs/guide/windows_hosts.md "
               "explains how to create one";
    return "no Windows node is Ready; `porthole up --nodes linux=1,windows=1` starts a cluster with an emulated one";
}

template <class T>
std::string resource_name(const std::string& name) {
    const schema::Kind& kind = T::kind();
    return std::string(kind.singular) + (kind.group.empty() ? "" : "." + std::string(kind.group)) + "/" + name;
}

template <class T>
Result<void> read_into(std::vector<T>& list, const schema::Value& document, const std::string& namespace_) {
    TRY(T object, schema::decode_json<T>(schema::to_json(document)));
    object.metadata.namespace_ = namespace_;
    list.push_back(std::move(object));
    return {};
}

}  // namespace

Result<Sample> Sample::read(EventLoop& loop, client::Client& client, std::string_view manifest, const std::string& namespace_, Told told) {
    Sample sample(loop, client, namespace_, std::move(told));
    TRY(const auto documents, schema::parse_yaml_documents(manifest));
    for (const schema::Value& document : documents) {
        const std::string kind(document.string_at({"kind"}));
        if (kind == "Service") {
            TRY_VOID(read_into(sample.services_, document, namespace_));
        } else if (kind == "Deployment") {
            TRY_VOID(read_into(sample.deployments_, document, namespace_));
        } else {
            return Error(Reason::BadRequest, "a sample may contain services and deployments, not a " + kind);
        }
    }
    return sample;
}

Task<> Sample::leave_out_what_no_node_can_run() {
    CO_TRY(const auto nodes, co_await client_.list<core::Node>());
    std::string reasons;
    std::erase_if(deployments_, [&](const apps::Deployment& deployment) {
        const auto& wanted = deployment.spec.template_.spec.node_selector;
        const auto fits = [&](const core::Node& node) { return objects::is_ready(node) && has_labels(node, wanted); };
        if (std::ranges::any_of(nodes.items, fits)) return false;
        const std::string why = deployment.metadata.name + " is left out: " + why_left_out(nodes.items, wanted);
        reasons += (reasons.empty() ? "" : "\n") + why;
        return true;
    });
    if (deployments_.empty()) co_return Error(Reason::NotFound, reasons);
    if (!reasons.empty()) told_(reasons);
    co_return {};
}

template <class T>
Task<> Sample::make(T object) {
    const client::NamespacedName key = client::key_of(object);
    const auto made = co_await client_.create(object);
    if (made) {
        told_(resource_name<T>(key.name) + " created");
        co_return {};
    }
    if (made.error().reason != Reason::AlreadyExists) co_return made.error();
    CO_TRY_VOID(co_await client_.patch<T>(key, client::PatchType::Merge, schema::encode_json(object)));
    told_(resource_name<T>(key.name) + " existed; it was updated to the sample");
    co_return {};
}

Task<> Sample::apply() {
    CO_TRY_VOID(co_await leave_out_what_no_node_can_run());
    for (const core::Service& service : services_) CO_TRY_VOID(co_await make(service));
    for (const apps::Deployment& deployment : deployments_) CO_TRY_VOID(co_await make(deployment));
    co_return {};
}

/// What the first of its pods that is not ready waits for; "" where that is not known.
Task<std::string> Sample::trouble_of(std::string deployment) {
    CO_TRY(const auto pods, co_await client_.list<core::Pod>({.namespace_ = namespace_}));
    for (const core::Pod& pod : pods.items) {
        if (!pod.metadata.name.starts_with(deployment + "-")) continue;
        for (const auto& status : pod.status.container_statuses) {
            if (status.state.waiting && !status.state.waiting->message.empty())
                co_return status.state.waiting->reason + ": " + status.state.waiting->message;
        }
        const auto* scheduled = objects::find_condition(pod.status.conditions, "PodScheduled");
        if (scheduled && scheduled->status != "True") co_return "not scheduled: " + scheduled->message;
    }
    co_return "";
}

Task<> Sample::wait_until_ready(Duration patience) {
    const MonotonicTime end = loop_.now() + patience;
    for (const apps::Deployment& deployment : deployments_) {
        const std::string name = deployment.metadata.name;
        for (;;) {
            CO_TRY(const auto found, co_await client_.get<apps::Deployment>({namespace_, name}));
            const bool seen = found.status.observed_generation >= found.metadata.generation;
            if (seen && found.status.updated_replicas > 0 && found.status.available_replicas >= found.spec.replicas.value_or(1)) break;
            if (loop_.now() > end) {
                CO_TRY(const std::string why, co_await trouble_of(name));
                co_return Error(Reason::Timeout, name + " is not ready yet" + (why.empty() ? "" : " (" + why + ")") + "; see  kubectl -n " +
                                                     namespace_ + " describe pods -l app=sample-web");
            }
            CO_TRY_VOID(co_await loop_.sleep(200ms));
        }
        told_(resource_name<apps::Deployment>(name) + " is ready");
    }
    co_return {};
}

Task<std::string> Sample::ways_to_look() {
    const std::string place = namespace_ == "default" ? "" : " -n " + namespace_;
    std::string text = "\nlook at it:\n  kubectl" + place + " get pods,services -o wide\n";
    for (const core::Service& service : services_) {
        const std::string& name = service.metadata.name;
        CO_TRY(const auto found, co_await client_.get<core::Service>({namespace_, name}));
        text += "  curl http://" + found.spec.cluster_ip + "/      # on a Linux node; all of its pods answer in turn\n";
        text += "  kubectl" + place + " port-forward service/" + name + " 8080:80      # then http://127.0.0.1:8080/ from here\n";
        for (const apps::Deployment& deployment : deployments_) {
            const bool windows = deployment.spec.template_.spec.node_selector.at(SystemLabel) == "windows";
            text += "  kubectl" + place + " exec deploy/" + deployment.metadata.name + " -- " +
                    (windows ? "'C:\\web\\fetch.exe'" : "/web/fetch") + " http://" + name + "/\n";
        }
    }
    co_return text;
}

template <class T>
Task<> Sample::remove_one(std::string name) {
    const client::NamespacedName key{namespace_, name};
    const auto removed = co_await client_.remove<T>(key, {.propagation_policy = "Background"});
    if (removed) told_(resource_name<T>(name) + " deleted");
    co_return ignore_not_found(removed);
}

Task<> Sample::remove() {
    for (const apps::Deployment& deployment : deployments_) CO_TRY_VOID(co_await remove_one<apps::Deployment>(deployment.metadata.name));
    for (const core::Service& service : services_) CO_TRY_VOID(co_await remove_one<core::Service>(service.metadata.name));
    co_return {};
}

}  // namespace porthole::cmd::sample
