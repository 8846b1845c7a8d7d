#pragma once
#include <memory>
#include <string>

#include "api/resource_v1.h"
#include "client/informers/informer.h"

namespace porthole::scheduler {

/// The device classes whose devices satisfy extended resources: those that a class names, and "deviceclass.resource.kubernetes.io/<class>".
class ExtendedResourceClasses {
public:
    using Class = api::resource::v1::DeviceClass;

    explicit ExtendedResourceClasses(client::Informers& informers);

    /// Null for a resource that no class satisfies. Of several the newest, or else the first by name.
    std::shared_ptr<const Class> find(const std::string& resource) const;

private:
    client::Informer<Class>::Index by_resource_;
};

}  // namespace porthole::scheduler
