#include "apiserver/admission/versioned_requests.h"

#include "apiserver/admission/admission_review.h"

namespace porthole::apiserver {

AdmissionInput VersionedRequest::input(const AdmissionAttributes& attributes) const {
    return {.object = object ? &object->tree() : &attributes.connect_options,
            .old_object = old_object ? &old_object->tree() : nullptr,
            .request = &request,
            .request_resource = {.group = std::string(attributes.kind.group),
                                 .resource = std::string(attributes.kind.plural),
                                 .subresource = attributes.subresource,
                                 .namespace_name = attributes.request_namespace(),
                                 .name = attributes.name}};
}

Task<const VersionedRequest*> VersionedRequests::as(const schema::Kind& kind) {
    if (const auto known = made_.find(&kind); known != made_.end()) co_return &known->second;
    VersionedRequest made{.kind = &kind, .object = {}, .old_object = {}, .request = admission_request(kind, attributes_)};
    CO_TRY(made.object, co_await converted(attributes_.object, kind));
    CO_TRY(made.old_object, co_await converted(attributes_.old_object, kind));
    co_return &made_.emplace(&kind, std::move(made)).first->second;
}

Task<std::optional<ApiObject>> VersionedRequests::converted(const ApiObject* object, const schema::Kind& kind) const {
    if (!object) co_return std::optional<ApiObject>();
    if (&object->kind() != &attributes_.kind || !versions_) co_return std::optional(*object);
    CO_TRY(ApiObject in_version, co_await versions_->convert(*object, kind));
    co_return std::optional(std::move(in_version));
}

}  // namespace porthole::apiserver
