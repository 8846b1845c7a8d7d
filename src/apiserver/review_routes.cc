#include "apiserver/review_routes.h"

#include "api/core_v1.h"
#include "apiserver/admission/admission.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/negotiation.h"
#include "apiserver/request/options.h"
#include "apiserver/request/status.h"

namespace porthole::apiserver {
namespace {

using api::authentication::v1::TokenRequest;
using api::core::v1::ServiceAccount;

/// The body of a POST as an object of `kind`. Error: MethodNotAllowed for other verbs.
Result<ApiObject> posted(RequestContext& context, const schema::Registry& registry, const schema::Kind& kind) {
    if (context.info.verb != "create") return method_not_allowed();
    TRY(const WriteOptions options, parse_write_options(context.info, "CreateOptions", false));
    TRY(ApiObject object, decode_body(context, registry, kind, options.field_validation));
    return object;
}

Task<> answer(RequestContext& context, const schema::Registry& registry, const VirtualResource& resource) {
    // A review has no metadata, and so neither columns nor a form without the rest.
    CO_TRY_VOID(negotiate_output(context.request.headers.get("accept"), false, false));
    CO_TRY(ApiObject object, posted(context, registry, resource.kind));
    if (resource.kind.namespaced()) {
        object.edit_metadata([&](ObjectMeta& metadata) { metadata.namespace_ = context.info.namespace_; });
    }
    CO_TRY(const ApiObject answered, co_await resource.create(context.user, std::move(object)));
    co_return co_await reply_tree(context, 201, answered.tree());
}

Task<> issue_token(RequestContext& context, const schema::Registry& registry, const ServiceAccountTokens& tokens,
                   const AdmissionChain& admission) {
    CO_TRY(ApiObject object, posted(context, registry, TokenRequest::kind()));
    AdmissionAttributes attributes{.operation = AdmissionOperation::Create,
                                   .kind = ServiceAccount::kind(),
                                   .subresource = "token",
                                   .namespace_ = context.info.namespace_,
                                   .name = context.info.name,
                                   .user = context.user,
                                   .object = &object,
                                   .warnings = context.warnings,
                                   .audit_annotations = context.audit_annotations};
    CO_TRY_VOID(co_await admission.admit(attributes));
    CO_TRY_VOID(co_await admission.validate(attributes));
    CO_TRY(TokenRequest issued, tokens.issue(context.info.namespace_, context.info.name, object.view<TokenRequest>()));
    co_return co_await reply_tree(context, 201, ApiObject::of(std::move(issued)).tree());
}

}  // namespace

void add_review_routes(Server& server, const schema::Registry& registry, std::vector<VirtualResource> resources) {
    for (VirtualResource& resource : resources) {
        const auto shared = std::make_shared<const VirtualResource>(std::move(resource));
        server.add_resource(shared->kind.group, shared->kind.plural,
                            [shared, &registry](RequestContext& context) { return answer(context, registry, *shared); });
    }
}

void add_token_routes(Server& server, const schema::Registry& registry, const ServiceAccountTokens& tokens,
                      const AdmissionChain& admission) {
    server.add_resource("", "serviceaccounts/token",
                        [&](RequestContext& context) { return issue_token(context, registry, tokens, admission); });
    server.add_path("/openid/v1/jwks", [&](RequestContext& context) { return reply_tree(context, 200, tokens.jwks()); });
    server.add_path("/.well-known/openid-configuration",
                    [&](RequestContext& context) { return reply_tree(context, 200, tokens.openid_configuration()); });
}

}  // namespace porthole::apiserver
