#include "kubelet/volumes/csi/csi_secrets.h"

#include "base/result.h"
#include "kubelet/container/environment.h"
#include "kubelet/volumes/framework/token_source.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

constexpr std::int64_t TokenSeconds = 3600;  // where the driver's object does not say

}  // namespace

Task<std::map<std::string, std::string>> csi_secret(const schema::Box<core::SecretReference>& reference, const char* field,
                                                    const VolumeApi& api) {
    std::map<std::string, std::string> data;
    if (!reference) co_return data;
    const std::string namespace_ = reference->namespace_, name = reference->name;
    const auto secret = co_await api.objects.secret(namespace_, name);
    if (is_cancelled(secret)) co_return secret.error();
    if (!secret)
        co_return Error(secret.error().reason, std::string("fetching ") + field + " " + namespace_ + "/" + name +
                                                   " failed: kubernetes.io/csi: failed to find the secret " + name + " in the namespace " +
                                                   namespace_ + " with error: " + secret.error().message);
    for (const auto& [key, value] : (*secret)->data) data[key] = value;
    co_return data;
}

Task<std::map<std::string, std::string>> csi_tokens(std::shared_ptr<const core::Pod> pod,
                                                    std::shared_ptr<const api::storage::v1::CSIDriver> driver, const VolumeApi& api) {
    std::map<std::string, std::string> given;
    const auto& requests = driver->spec.token_requests;
    if (requests.empty()) co_return given;
    Value list = Value::object();
    for (const auto& wanted : requests) {
        auto token = co_await api.tokens.token(pod, wanted.audience, wanted.expiration_seconds.value_or(TokenSeconds));
        if (!token) {
            if (is_cancelled(token)) co_return std::move(token).error();
            co_return std::move(token).error().with_context(
                "kubernetes.io/csi: mounter.SetUpAt failed to get service accoount token attributes");
        }
        list[wanted.audience] = Value::object({{"token", token->token}, {"expirationTimestamp", Timestamp(token->expires).to_string()}});
    }
    given["csi.storage.k8s.io/serviceAccount.tokens"] = schema::to_json(list);
    co_return given;
}

}  // namespace porthole::kubelet
