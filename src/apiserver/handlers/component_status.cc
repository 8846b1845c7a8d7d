#include "apiserver/handlers/component_status.h"

#include "api/core_v1.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::ComponentStatus;

}  // namespace

ComponentStatuses::ComponentStatuses(const Clock& clock, std::vector<Component> components)
    : clock_(clock), components_(std::move(components)) {
    resource_.kind = resource_.stored = &ComponentStatus::kind();
}

store::RecordPtr ComponentStatuses::record_of(const Component& component) const {
    const bool healthy = component.healthy();
    ComponentStatus status;
    status.metadata.name = component.name;
    status.conditions.push_back({.type = "Healthy", .status = healthy ? "True" : "False", .message = healthy ? "ok" : "not ready"});
    auto record = std::make_shared<store::Record>();
    record->value = bytes_of(ApiObject::of(std::move(status)).to_json());
    return record;
}

Task<> ComponentStatuses::handle(RequestContext& context) const {
    context.warnings.emplace_back("v1 ComponentStatus is deprecated in v1.19+");
    const Timestamp now(clock_.wall_now());
    if (context.info.verb == "get") {
        for (const Component& component : components_)
            if (component.name == context.info.name)
                co_return co_await reply_object(context, resource_, 200, record_of(component)->value.bytes(), now);
        co_return not_found(*resource_.kind, context.info.name);
    }
    if (context.info.verb != "list") co_return method_not_allowed();
    CO_TRY(OutputForm form, negotiate_output(context.request.headers.get("accept"), true, false));
    CO_TRY(const IncludeObject include, parse_include_object(context.info.parameter("includeObject")));
    Page page;
    for (const Component& component : components_) page.records.push_back(record_of(component));
    const std::string content_type = form.content_type();
    const ResponseEncoder encoder(resource_, std::move(form), include, now);
    CO_TRY(std::vector<store::Bytes> body, co_await encoder.list(page));
    co_return co_await reply(context, 200, content_type, std::move(body));
}

}  // namespace porthole::apiserver
