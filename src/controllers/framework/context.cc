#include "controllers/framework/context.h"

#include "objects/owners.h"

namespace porthole::controllers {

using api::core::v1::Pod;

std::string label_key(const std::string& namespace_, const std::string& key, const std::string& value) {
    return namespace_ + "/" + key + "=" + value;
}

std::vector<std::string> label_keys(const api::meta::v1::ObjectMeta& metadata) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : metadata.labels) keys.push_back(label_key(metadata.namespace_, key, value));
    return keys;
}

std::string owner_key(const std::string& namespace_, const std::string& owner_uid) { return namespace_ + "/" + owner_uid; }

std::string owner_key(const api::meta::v1::ObjectMeta& metadata) {
    const api::meta::v1::OwnerReference* owner = objects::find_controller(metadata);
    return owner_key(metadata.namespace_, owner ? owner->uid : "");
}

std::vector<std::string> owner_keys(const api::meta::v1::ObjectMeta& metadata) {
    std::vector<std::string> keys{owner_key(metadata)};
    if (!objects::find_controller(metadata))
        for (std::string& label : label_keys(metadata)) keys.push_back(std::move(label));
    return keys;
}

std::string orphan_key(const std::string& namespace_, const api::meta::v1::LabelSelector& selector) {
    if (selector.match_labels.empty()) return owner_key(namespace_, "");
    const auto& [key, value] = *selector.match_labels.begin();
    return label_key(namespace_, key, value);
}

PodOwnerIndex Context::pods_by_owner() {
    if (!indexes.pods_by_owner) indexes.pods_by_owner.emplace(informers.get<Pod>());
    return *indexes.pods_by_owner;
}

PodIndex Context::pods_by_node() {
    if (!indexes.pods_by_node)
        indexes.pods_by_node = informers.get<Pod>().add_index([](const Pod& pod) { return std::vector{pod.spec.node_name}; });
    return *indexes.pods_by_node;
}

PodIndex Context::pods_by_label() {
    if (!indexes.pods_by_label)
        indexes.pods_by_label = informers.get<Pod>().add_index([](const Pod& pod) { return label_keys(pod.metadata); });
    return *indexes.pods_by_label;
}

}  // namespace porthole::controllers
