#include "scheduler/plugins/extended_resource_classes.h"

namespace porthole::scheduler {

ExtendedResourceClasses::ExtendedResourceClasses(client::Informers& informers)
    : by_resource_(informers.get<Class>().add_index([](const Class& one) {
          std::vector<std::string> resources{"deviceclass.resource.kubernetes.io/" + one.metadata.name};
          if (one.spec.extended_resource_name) resources.push_back(*one.spec.extended_resource_name);
          return resources;
      })) {}

std::shared_ptr<const ExtendedResourceClasses::Class> ExtendedResourceClasses::find(const std::string& resource) const {
    std::shared_ptr<const Class> best;
    for (auto& one : by_resource_.find(resource)) {
        const auto &now = one->metadata, &before = best ? best->metadata : now;
        if (!best || now.creation_timestamp > before.creation_timestamp ||
            (now.creation_timestamp == before.creation_timestamp && now.name < before.name))
            best = std::move(one);
    }
    return best;
}

}  // namespace porthole::scheduler
