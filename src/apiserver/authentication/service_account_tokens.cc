#include "apiserver/authentication/service_account_tokens.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "api/core_v1.h"
#include "apiserver/request/status.h"
#include "base/base64.h"
#include "net/tls/x509.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::authentication::v1::BoundObjectReference;
using api::authentication::v1::TokenRequest;
using schema::Value;

constexpr std::int64_t MinimumSeconds = 600;
constexpr std::int64_t MaximumSeconds = 1LL << 32;
constexpr std::int64_t DefaultSeconds = 3600;
/// What kubelets ask for; bound to a pod and for the server's own audience it lasts a year, as old clients never read a renewed token.
constexpr std::int64_t ExtendableSeconds = 3607;
constexpr std::int64_t YearSeconds = 365 * 24 * 3600;
/// How long a token outlives the deletion of what it is bound to.
constexpr std::int64_t LeewaySeconds = 60;
/// How many tokens are remembered as signed by us, and how long these may be: one with thousands of audiences takes many times its length.
constexpr std::size_t VerifiedTokens = 4096, LongestVerifiedToken = 4096;

Error unauthorized(std::string why) { return Error(Reason::Unauthorized, std::move(why)); }

std::int64_t seconds_now(const Clock& clock) {
    return std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now().time_since_epoch()).count();
}

Error invalid_request(const std::string& field, const std::string& why) {
    Error error(Reason::Invalid, "TokenRequest.authentication.k8s.io \"\" is invalid: " + field + ": " + why);
    error.details->group = "authentication.k8s.io";
    error.details->kind = "TokenRequest";
    error.details->causes.push_back({"FieldValueInvalid", why, field});
    return error;
}

Value reference(const std::string& name, const std::string& uid) { return Value::object({{"name", name}, {"uid", uid}}); }

bool is_listed(std::string_view one, const std::vector<std::string>& all) { return std::ranges::find(all, one) != all.end(); }

/// Whether a token bound to this object has to be refused.
bool is_gone(const api::meta::v1::ObjectMeta& metadata, std::string_view uid, std::int64_t now) {
    if (metadata.uid != uid) return true;
    return metadata.deletion_timestamp && metadata.deletion_timestamp->seconds() + LeewaySeconds < now;
}

}  // namespace

Result<TokenRequest> ServiceAccountTokens::issue(const std::string& namespace_, const std::string& account, TokenRequest request) const {
    auto& spec = request.spec;
    if (spec.audiences.empty()) spec.audiences = settings_.api_audiences;
    const std::int64_t wanted = spec.expiration_seconds.value_or(DefaultSeconds);
    if (wanted < MinimumSeconds)
        return invalid_request("spec.expirationSeconds",
                               "Invalid value: " + std::to_string(wanted) + ": may not specify a duration less than 10 minutes");
    if (wanted > MaximumSeconds)
        return invalid_request("spec.expirationSeconds",
                               "Invalid value: " + std::to_string(wanted) + ": may not specify a duration larger than 2^32 seconds");
    TRY(const auto found, reader_.find<ServiceAccount>(namespace_, account));
    if (!found) return not_found(ServiceAccount::kind(), account);

    Value kubernetes = Value::object({{"namespace", namespace_}, {"serviceaccount", reference(account, found->metadata.uid)}});
    if (spec.bound_object_ref) TRY_VOID(check_bound(*spec.bound_object_ref, namespace_, kubernetes));
    const std::int64_t now = seconds_now(clock_);
    const bool for_pod = settings_.extend && spec.bound_object_ref && spec.bound_object_ref->kind == "Pod";
    const auto is_ours = [this](const std::string& audience) { return is_listed(audience, settings_.api_audiences); };
    const bool extended = for_pod && wanted == ExtendableSeconds && std::ranges::all_of(spec.audiences, is_ours);
    if (extended) kubernetes["warnafter"] = now + wanted;

    Value audiences = Value::array();
    for (const std::string& audience : spec.audiences) audiences.as_array().emplace_back(audience);
    const Value claims = Value::object({{"aud", std::move(audiences)},
                                        {"exp", now + (extended ? YearSeconds : wanted)},
                                        {"iat", now},
                                        {"iss", settings_.issuers.front()},
                                        {"jti", random_.uuid()},
                                        {"kubernetes.io", std::move(kubernetes)},
                                        {"nbf", now},
                                        {"sub", "system:serviceaccount:" + namespace_ + ":" + account}});
    const Value header = Value::object({{"alg", keys_.front().algorithm}, {"kid", keys_.front().id}});
    std::string token = encode_base64url(schema::to_json(header)) + "." + encode_base64url(schema::to_json(claims));
    TRY(const std::string signature, keys_.front().sign(token));
    request.status.token = token + "." + encode_base64url(signature);
    request.status.expiration_timestamp = Timestamp::from_seconds(now + wanted);
    spec.expiration_seconds = wanted;
    request.metadata.name = account;
    request.metadata.namespace_ = namespace_;
    return request;
}

Result<void> ServiceAccountTokens::check_bound(const BoundObjectReference& bound, const std::string& namespace_, Value& claims) const {
    const auto check_uid = [&](const api::meta::v1::ObjectMeta& metadata) -> Result<void> {
        if (bound.uid.empty() || bound.uid == metadata.uid) return {};
        return Error(Reason::Conflict, "the UID in the bound object reference (" + bound.uid +
                                           ") does not match the UID in record. The object might have been deleted and then recreated");
    };
    if (bound.kind == "Pod") {
        TRY(const auto pod, reader_.find<Pod>(namespace_, bound.name));
        if (!pod) return not_found(Pod::kind(), bound.name);
        TRY_VOID(check_uid(pod->metadata));
        const std::string account = claims.at_path({"serviceaccount", "name"})->as_string();
        if (pod->spec.service_account_name != account) {
            return Error(Reason::BadRequest,
                         "cannot bind token for serviceaccount \"" + account + "\" to pod running with different serviceaccount name.");
        }
        claims["pod"] = reference(bound.name, pod->metadata.uid);
        if (pod->spec.node_name.empty()) return {};
        TRY(const auto node, reader_.find<Node>("", pod->spec.node_name));
        claims["node"] = reference(pod->spec.node_name, node ? node->metadata.uid : "");
        return {};
    }
    if (bound.kind == "Secret") {
        TRY(const auto secret, reader_.find<Secret>(namespace_, bound.name));
        if (!secret) return not_found(Secret::kind(), bound.name);
        TRY_VOID(check_uid(secret->metadata));
        claims["secret"] = reference(bound.name, secret->metadata.uid);
        return {};
    }
    if (bound.kind == "Node") {
        TRY(const auto node, reader_.find<Node>("", bound.name));
        if (!node) return not_found(Node::kind(), bound.name);
        TRY_VOID(check_uid(node->metadata));
        claims["node"] = reference(bound.name, node->metadata.uid);
        return {};
    }
    return Error(Reason::BadRequest, "cannot bind token to object of type " + bound.api_version + ", Kind=" + bound.kind);
}

Result<ServiceAccountTokens::ClaimsPtr> ServiceAccountTokens::signed_claims(std::string_view token) const {
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    if (first == token.npos || last == first) return ClaimsPtr();
    const std::string_view content = token.substr(0, last);
    std::string encoded_signature(token.substr(last + 1));
    if (const auto known = verified_.find(encoded_signature); known != verified_.end() && known->second.content == content)
        return known->second.claims;

    const auto payload = decode_base64url(content.substr(first + 1));
    const auto header = decode_base64url(content.substr(0, first));
    const auto signature = decode_base64url(encoded_signature);
    if (!payload || !header || !signature) return ClaimsPtr();
    auto claims = schema::parse_json(*payload);
    const auto head = schema::parse_json(*header);
    if (!claims || !head || !is_listed(claims->string_at({"iss"}), settings_.issuers)) return ClaimsPtr();
    const auto key = std::ranges::find(keys_, head->string_at({"kid"}), &TokenKey::id);
    if (key == keys_.end() || head->string_at({"alg"}) != key->algorithm || !key->verify(content, *signature)) {
        return unauthorized("invalid bearer token: the signature is not this server's");
    }
    const auto signed_by_us = std::make_shared<const Claims>(claims_in(*claims));
    if (token.size() > LongestVerifiedToken) return signed_by_us;
    if (verified_.size() == VerifiedTokens) verified_.clear();
    verified_.insert_or_assign(std::move(encoded_signature), VerifiedToken{std::string(content), signed_by_us});
    return signed_by_us;
}

Result<std::optional<ServiceAccountTokens::Verified>> ServiceAccountTokens::verify(std::string_view token,
                                                                                   const std::vector<std::string>& audiences) const {
    TRY(const ClaimsPtr claims, signed_claims(token));
    if (!claims) return std::optional<Verified>();
    const std::int64_t now = seconds_now(clock_);
    if (now >= claims->expires) return unauthorized("service account token has expired");
    if (now + LeewaySeconds < claims->not_before) return unauthorized("service account token is not valid yet");
    Verified verified;
    std::ranges::copy_if(audiences, std::back_inserter(verified.audiences),
                         [&](const std::string& audience) { return std::ranges::binary_search(claims->audiences, audience); });
    if (verified.audiences.empty()) return unauthorized("service account token has none of the audiences it is asked for");
    TRY_VOID(check_alive(*claims));
    verified.user = claims->user;
    return std::optional(std::move(verified));
}

ServiceAccountTokens::Claims ServiceAccountTokens::claims_in(const Value& payload) {
    Claims claims{.expires = schema::at(payload, "exp").int_or(0), .not_before = schema::at(payload, "nbf").int_or(0)};
    if (const Value* audiences = payload.find("aud"); audiences && audiences->is_array()) {
        for (const Value& audience : audiences->as_array())
            if (audience.is_string()) claims.audiences.push_back(audience.as_string());
        std::ranges::sort(claims.audiences);
    }
    const Value* kubernetes = payload.find("kubernetes.io");
    if (!kubernetes) return claims;
    const auto bound = [&](const char* kind) {
        return Bound{std::string(kubernetes->string_at({kind, "name"})), std::string(kubernetes->string_at({kind, "uid"}))};
    };
    claims.has_account = true;
    claims.namespace_ = kubernetes->string_at({"namespace"});
    claims.account = bound("serviceaccount");
    claims.pod = bound("pod");
    claims.secret = bound("secret");
    claims.node = bound("node");
    claims.user = {.name = "system:serviceaccount:" + claims.namespace_ + ":" + claims.account.name,
                   .uid = claims.account.uid,
                   .groups = {"system:serviceaccounts", "system:serviceaccounts:" + claims.namespace_}};
    const auto add_extra = [&](const char* name, std::string value) {
        claims.user.extra["authentication.kubernetes.io/" + std::string(name)] = {std::move(value)};
    };
    add_extra("credential-id", "JTI=" + std::string(payload.string_at({"jti"})));
    if (!claims.pod.name.empty()) {
        add_extra("pod-name", claims.pod.name);
        add_extra("pod-uid", claims.pod.uid);
    }
    if (!claims.node.name.empty()) {
        add_extra("node-name", claims.node.name);
        add_extra("node-uid", claims.node.uid);
    }
    return claims;
}

Result<void> ServiceAccountTokens::check_alive(const Claims& claims) const {
    if (!claims.has_account) return unauthorized("service account token lacks its claims");
    TRY(const auto account, reader_.find<ServiceAccount>(claims.namespace_, claims.account.name));
    if (!account || is_gone(account->metadata, claims.account.uid, seconds_now(clock_)))
        return unauthorized("service account " + claims.namespace_ + "/" + claims.account.name + " has been deleted");
    TRY_VOID(check_exists<Pod>(claims.namespace_, claims.pod, "pod"));
    TRY_VOID(check_exists<Secret>(claims.namespace_, claims.secret, "secret"));
    // The node of a pod's token is where the pod was: only the pod counts.
    return claims.pod.name.empty() ? check_exists<Node>("", claims.node, "node") : Result<void>();
}

template <class T>
Result<void> ServiceAccountTokens::check_exists(const std::string& namespace_, const Bound& bound, const char* what) const {
    if (bound.name.empty()) return {};
    TRY(const auto found, reader_.find<T>(namespace_, bound.name));
    if (found && !is_gone(found->metadata, bound.uid, seconds_now(clock_))) return {};
    return unauthorized(std::string("the ") + what + " this token is bound to has been deleted");
}

void ServiceAccountTokens::use_keys(std::vector<TokenKey> keys) {
    keys_ = std::move(keys);
    verified_.clear();
}

Value ServiceAccountTokens::jwks() const {
    Value keys = Value::array();
    for (const TokenKey& key : keys_) keys.as_array().push_back(key.jwk);
    return Value::object({{"keys", std::move(keys)}});
}

Value ServiceAccountTokens::openid_configuration() const {
    return Value::object({{"issuer", settings_.issuers.front()},
                          {"jwks_uri", settings_.issuers.front() + "/openid/v1/jwks"},
                          {"response_types_supported", Value::array({"id_token"})},
                          {"subject_types_supported", Value::array({"public"})},
                          {"id_token_signing_alg_values_supported", Value::array({keys_.front().algorithm})}});
}

Task<std::optional<User>> ServiceAccountAuthenticator::authenticate(const net::HttpRequest& request) {
    const std::string token = bearer_token(request);
    if (token.empty()) co_return std::optional<User>();
    CO_TRY(auto verified, tokens_.verify(token, tokens_.settings().api_audiences));
    if (!verified) co_return std::optional<User>();
    co_return std::optional(std::move(verified->user));
}

std::string bearer_token(const net::HttpRequest& request) {
    constexpr std::string_view Scheme = "bearer ";
    const std::string_view header = request.headers.get("authorization");
    const auto same = [](char a, char b) { return (a | 0x20) == b || a == b; };
    if (header.size() > Scheme.size() && std::ranges::equal(header.substr(0, Scheme.size()), Scheme, same)) {
        const std::size_t begin = header.find_first_not_of(' ', Scheme.size());
        return begin == header.npos ? "" : std::string(header.substr(begin));
    }
    constexpr std::string_view Protocol = "base64url.bearer.authorization.k8s.io.";
    const std::string_view protocols = request.headers.get("sec-websocket-protocol");
    const std::size_t found = protocols.find(Protocol);
    if (found == protocols.npos) return "";
    const std::string_view encoded = protocols.substr(found + Protocol.size());
    return decode_base64url(encoded.substr(0, encoded.find_first_of(", "))).value_or("");
}

}  // namespace porthole::apiserver
