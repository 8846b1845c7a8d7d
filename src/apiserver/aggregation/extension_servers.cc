#include "apiserver/aggregation/extension_servers.h"

#include <algorithm>

#include "apiserver/outgoing/service_endpoint.h"
#include "base/strings.h"
#include "net/tls/x509.h"

namespace porthole::apiserver {
namespace {

bool fits_header(std::string_view value) {
    return std::ranges::none_of(value, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

/// What RFC 9110 allows in a field name, without "%", which begins an escape here.
bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("!#$&'*+-.^_`|~").contains(c);
}

/// Keys of extra fields are any text, in field names as upstream escapes them.
std::string escaped_key(std::string_view key) {
    constexpr std::string_view Digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(c)) {
            out += to_lower(c);
        } else {
            out += {'%', Digits[byte >> 4], Digits[byte & 15]};
        }
    }
    return out;
}

}  // namespace

void ExtensionServers::use_client_certificate(std::string certificate_pem, std::string key_pem) {
    certificate_pem_ = std::move(certificate_pem);
    key_pem_ = std::move(key_pem);
}

Result<ExtensionServers::Way> ExtensionServers::way_to(const APIService& service, Trust trust) {
    if (!clients_) return Error(Reason::ServiceUnavailable, "this server cannot connect to services");
    const auto& reference = *service.spec.service;
    const std::int32_t port = reference.port.value_or(443);
    TRY(const ServiceEndpoint endpoint, resolve_service(reader_, reference.namespace_, reference.name, port, random_));
    const std::string name = reference.name + "." + reference.namespace_ + ".svc";
    const bool anyone = trust == Trust::Anyone || service.spec.insecure_skip_tls_verify;
    client::ClientConfig config{.server = https_url(endpoint.host, endpoint.port),
                                .ca_pem = anyone ? "" : service.spec.ca_bundle,
                                .server_name = name,
                                .insecure_skip_verify = anyone,
                                .certificate_pem = certificate_pem_,
                                .key_pem = key_pem_,
                                .global_only = true};
    // A digest, as a bundle of certificates has up to a megabyte.
    const std::string key =
        join(std::vector{config.server, name, net::sha256(config.ca_pem), std::string(anyone ? "any" : ""), certificate_pem_}, "\n");
    Way way{.client = nullptr, .host = name + ":" + std::to_string(port), .url = config.server};
    if (const auto* known = opened_.find(key)) {
        way.client = *known;
        return way;
    }
    TRY(auto opened, clients_->open(config));
    way.client = opened_.put(key, std::move(opened));
    return way;
}

Result<void> add_identity(net::Headers& headers, const User& user) {
    Result<void> outcome;
    const auto add = [&](std::string name, const std::string& value) {
        if (!fits_header(value)) outcome = Error(Reason::BadRequest, "invalid header field value for " + quote(name));
        headers.add(std::move(name), value);
    };
    add("x-remote-user", user.name);
    if (!user.uid.empty()) add("x-remote-uid", user.uid);
    for (const std::string& group : user.groups) add("x-remote-group", group);
    for (const auto& [key, values] : user.extra)
        for (const std::string& value : values) add("x-remote-extra-" + escaped_key(key), value);
    return outcome;
}

Task<net::HttpResponse> ask(ExtensionServers::Way way, net::HttpRequest request, OutgoingLimits limits) {
    request.headers.add("host", way.host);
    CO_TRY_VOID(add_identity(request.headers, {.name = "system:kube-aggregator", .groups = {std::string(GroupMasters)}}));
    co_return co_await way.client->send(std::move(request), limits);
}

}  // namespace porthole::apiserver
