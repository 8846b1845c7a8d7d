#pragma once
#include <functional>
#include <string>
#include <vector>

#include "apiserver/handlers/request_context.h"
#include "apiserver/resources/resource.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// The deprecated resource componentstatuses: computed on request, never stored.
class ComponentStatuses {
public:
    struct Component {
        std::string name;
        std::function<bool()> healthy;
    };
    ComponentStatuses(const Clock& clock, std::vector<Component> components);

    Task<> handle(RequestContext& context) const;

private:
    store::RecordPtr record_of(const Component& component) const;

    const Clock& clock_;
    Resource resource_;
    std::vector<Component> components_;
};

}  // namespace porthole::apiserver
