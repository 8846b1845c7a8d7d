#include "controllers/service_account/token_secrets.h"

#include "api/authentication_v1.h"
#include "base/result.h"

namespace porthole::controllers {

using api::authentication::v1::TokenRequest;
using api::core::v1::Secret;
using api::core::v1::ServiceAccount;
using client::Requeue;

namespace {

constexpr const char* Type = "kubernetes.io/service-account-token";
constexpr const char* NameAnnotation = "kubernetes.io/service-account.name";
constexpr const char* UidAnnotation = "kubernetes.io/service-account.uid";
constexpr std::int64_t LongestLife = std::int64_t(1) << 32;  ///< seconds, the most that may be asked for: 136 years

std::string annotation(const Secret& secret, const char* key) {
    const auto found = secret.metadata.annotations.find(key);
    return found == secret.metadata.annotations.end() ? "" : found->second;
}

}  // namespace

TokenSecretController::TokenSecretController(Context& context)
    : Controller(context.loop, context.log, {.name = "serviceaccount-token-controller", .workers = 5}),
      client_(context.client),
      ca_pem_(context.settings.root_ca_pem),
      secrets_(context.informers.get<Secret>({.field_selector = std::string("type=") + Type})),
      accounts_(context.informers.get<ServiceAccount>()),
      by_account_(secrets_.add_index(
          [](const Secret& secret) { return std::vector{secret.metadata.namespace_ + "/" + annotation(secret, NameAnnotation)}; })) {
    secrets_.subscribe({.deleted = [this](const auto& secret) {
        if (!annotation(*secret, NameAnnotation).empty()) gone_[client::key_of(*secret)] = secret;
    }});
    reconcile_each(secrets_);
    depends_on(accounts_).on_change([this](const ServiceAccount& account) {
        for (const auto& secret : by_account_.find(client::key_of(account).text())) queue().add(client::key_of(*secret));
    });
}

Task<std::shared_ptr<const ServiceAccount>> TokenSecretController::account_of(const Secret& secret) {
    const client::NamespacedName key{secret.metadata.namespace_, annotation(secret, NameAnnotation)};
    std::shared_ptr<const ServiceAccount> account = accounts_.find(key);
    if (!account) {  // the cache may lag behind a manifest that made both
        auto live = co_await client_.get<ServiceAccount>(key);
        if (!live && !is_not_found(live)) co_return std::move(live).error();
        if (live) account = std::make_shared<const ServiceAccount>(std::move(*live));
    }
    const std::string uid = annotation(secret, UidAnnotation);
    const bool fits = account && (uid.empty() || uid == account->metadata.uid);
    co_return fits ? account : nullptr;
}

Task<> TokenSecretController::unlist(client::NamespacedName secret) {
    const auto gone = gone_.find(secret);
    if (gone == gone_.end()) co_return {};
    const auto last_seen = gone->second;  // another of that name may be deleted meanwhile
    CO_TRY(const auto account, co_await account_of(*last_seen));
    if (!account) co_return {};
    ServiceAccount freed = *account;
    if (std::erase_if(freed.secrets, [&](const auto& one) { return one.name == secret.name; }) == 0) co_return {};
    CO_TRY_VOID(co_await client_.update(std::move(freed)));
    co_return {};
}

Task<std::string> TokenSecretController::request_token(const Secret& secret, std::string account) {
    TokenRequest request;
    request.spec.expiration_seconds = LongestLife;
    auto& bound = request.spec.bound_object_ref.emplace();
    bound.kind = "Secret";
    bound.api_version = "v1";
    bound.name = secret.metadata.name;
    bound.uid = secret.metadata.uid;
    const std::string path = client::Client::path(ServiceAccount::kind(), {secret.metadata.namespace_, std::move(account)}, "token");
    CO_TRY(const net::Bytes bytes, co_await client_.post(path, schema::encode_json(request)));
    CO_TRY(const auto answer, schema::decode_json<TokenRequest>(*bytes));
    co_return answer.status.token;
}

Task<Requeue> TokenSecretController::reconcile(client::NamespacedName key) {
    const auto secret = secrets_.find(key);
    if (!secret) CO_TRY_VOID(co_await unlist(key));
    gone_.erase(key);
    if (!secret || secret->metadata.deletion_timestamp || annotation(*secret, NameAnnotation).empty()) co_return Requeue::never();
    CO_TRY(const auto account, co_await account_of(*secret));
    if (!account) {
        CO_TRY_VOID(ignore_not_found(co_await client_.remove<Secret>(key, {.uid = secret->metadata.uid})));
        co_return Requeue::never();
    }
    Secret wanted = *secret;
    wanted.metadata.annotations[UidAnnotation] = account->metadata.uid;
    wanted.data["namespace"] = secret->metadata.namespace_;
    if (!ca_pem_.empty()) wanted.data["ca.crt"] = ca_pem_;
    if (wanted.data["token"].empty()) {
        CO_TRY(wanted.data["token"], co_await request_token(*secret, account->metadata.name));
    }
    if (wanted == *secret) co_return Requeue::never();
    CO_TRY_VOID(co_await client_.update(std::move(wanted)));
    co_return Requeue::never();
}

Result<ControllerPtr> make_token_secrets(Context& context) { return make_controller<TokenSecretController>(context); }

}  // namespace porthole::controllers
