#include "winhost/images/registry/registry_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/base64.h"
#include "base/result.h"
#include "net/http/http_client.h"
#include "net/tls/crypto.h"
#include "schema/json/json.h"
#include "winhost/images/content/files.h"
#include "winhost/images/registry/challenge.h"
#include "winhost/images/registry/url.h"

using namespace std::chrono_literals;

namespace porthole::winhost {
namespace {

constexpr int Attempts = 3;
constexpr int MostRedirects = 5;
constexpr std::size_t AnswerLimit = 1 << 20;
constexpr Duration SilenceLimit = 60s;
constexpr const char* ManifestTypes =
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

Task<std::string> read_body(net::HttpBody& body, std::size_t limit) {
    std::string text;
    for (;;) {
        CO_TRY(const auto piece, co_await with_timeout(body.next(), SilenceLimit, "the registry sends nothing"));
        if (!piece) co_return text;
        if (text.size() + piece->size() > limit) co_return Error(Reason::RequestEntityTooLarge, "the registry's response is too long");
        text += *piece;
    }
}

Reason reason_of_status(int code) {
    if (code == 401) return Reason::Unauthorized;
    if (code == 403) return Reason::Forbidden;
    if (code == 404) return Reason::NotFound;
    if (code == 429 || code >= 500) return Reason::Unavailable;
    return Reason::Unknown;
}

/// The registry's own words: {"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}
Task<Error> refusal(net::HttpBody& body) {
    const int code = body.code();
    std::string said = "HTTP " + std::to_string(code);
    if (const auto text = co_await read_body(body, AnswerLimit)) {
        const auto json = schema::parse_json(*text);
        const schema::Value& errors = json ? schema::at(*json, "errors") : schema::null_value();
        if (errors.is_array() && !errors.as_array().empty()) {
            const auto message = schema::at(errors.as_array().front(), "message").string_or("");
            if (!message.empty()) said += ": " + std::string(message);
        }
    }
    co_return Error(reason_of_status(code), std::move(said));
}

bool is_redirect(int code) { return code == 301 || code == 302 || code == 303 || code == 307 || code == 308; }
bool is_worth_retrying(const Error& error) { return error.reason == Reason::Unavailable || error.reason == Reason::Timeout; }

net::Headers with(const net::Headers& headers, const std::string& authorization) {
    net::Headers all = headers;
    if (!authorization.empty()) all.add("authorization", authorization);
    return all;
}

net::HttpRequest request_with(net::Headers headers) {
    net::HttpRequest request;
    request.method = "GET";
    request.headers = std::move(headers);
    request.headers.add("user-agent", "porthole");
    return request;
}

std::string digest_of(std::string_view bytes) { return "sha256:" + net::sha256_hex(bytes); }

/// Lists within lists are allowed; nobody needs more.
constexpr int DeepestManifestList = 4;

}  // namespace

/// A blob on its way into a file.
struct RegistrySession::Download {
    Descriptor descriptor;
    std::string path;
    FileDescriptor file;
    net::Sha256 hash;
    std::uint64_t received = 0;
    bool disk_failed = false;  ///< trying again would not help

    bool complete() const { return received == descriptor.size; }
    Result<void> restart() {
        received = 0;
        hash = net::Sha256();
        if (::ftruncate(file.get(), 0) != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) return io_error("writing", path);
        return {};
    }
    Result<void> add(std::string_view piece) {
        received += piece.size();
        if (received > descriptor.size) return Error(Reason::Invalid, descriptor.digest + " is longer than the manifest says");
        hash.update(piece);
        auto written = write_all(file.get(), piece, path);
        disk_failed = !written;
        return written;
    }
};

std::string RegistrySession::basic() const {
    return credentials_.username.empty() ? "" : "Basic " + encode_base64(credentials_.username + ":" + credentials_.password);
}

std::string RegistrySession::url_of(const std::string& endpoint, const std::string& path) const {
    const auto endpoints = client_.endpoints(reference_.registry);
    const bool is_mirror = !endpoints.empty() && endpoint != endpoints.back();
    return endpoint + "/v2/" + reference_.repository + path + (is_mirror ? "?ns=" + net::percent_encode(reference_.registry) : "");
}

std::string RegistrySession::blob_path(const Descriptor& descriptor) const { return "/blobs/" + descriptor.digest; }

Task<std::string> RegistrySession::fetch_token(std::string realm, std::string service, std::string scope) {
    net::HttpRequest request = request_with({});
    std::string url = realm;
    if (!credentials_.identity_token.empty()) {
        request.method = "POST";
        request.headers.add("content-type", "application/x-www-form-urlencoded");
        request.body = "grant_type=refresh_token&client_id=porthole&service=" + net::percent_encode(service) +
                       "&scope=" + net::percent_encode(scope) + "&refresh_token=" + net::percent_encode(credentials_.identity_token);
    } else {
        if (const std::string authorization = basic(); !authorization.empty()) request.headers.add("authorization", authorization);
        url += (realm.contains('?') ? "&service=" : "?service=") + net::percent_encode(service) + "&scope=" + net::percent_encode(scope);
    }
    CO_TRY(const auto body, co_await client_.open(url, std::move(request)));
    if (body->code() != 200) {
        CO_TRY(Error error, co_await refusal(*body));
        co_return std::move(error).with_context("fetching a token from " + realm);
    }
    CO_TRY(const std::string text, co_await read_body(*body, AnswerLimit));
    CO_TRY(const auto json, schema::parse_json(text));
    for (const char* member : {"token", "access_token"}) {
        const auto token = schema::at(json, member).string_or("");
        if (!token.empty()) co_return std::string(token);
    }
    co_return Error(Reason::Unauthorized, "no token in the response of " + realm);
}

Task<> RegistrySession::authorize(std::string endpoint, net::Headers headers) {
    const Error refused(Reason::Unauthorized, "pull access denied, repository does not exist or may require authorization");
    for (const std::string_view text : headers.all("www-authenticate")) {
        const Challenge challenge = parse_challenge(text);
        if (challenge.scheme == "bearer") {
            if (!credentials_.registry_token.empty()) {
                authorization_[endpoint] = "Bearer " + credentials_.registry_token;
                co_return {};
            }
            CO_TRY_VOID(Url::parse(challenge.parameter("realm")));
            std::string scope = challenge.parameter("scope");
            if (scope.empty()) scope = "repository:" + reference_.repository + ":pull";
            CO_TRY(const std::string token, co_await fetch_token(challenge.parameter("realm"), challenge.parameter("service"), scope));
            authorization_[endpoint] = "Bearer " + token;
            co_return {};
        }
        if (challenge.scheme == "basic" && !basic().empty()) {
            authorization_[endpoint] = basic();
            co_return {};
        }
    }
    co_return refused;
}

/// Storage is often elsewhere. Credentials are for the registry only.
Task<RegistrySession::Body> RegistrySession::follow(std::string from, Body body, net::Headers headers) {
    CO_TRY(Url at, Url::parse(from));
    const std::string home = at.origin();
    for (int count = 0; is_redirect(body->code()); ++count) {
        if (count == MostRedirects) co_return Error(Reason::Unavailable, "too many redirects from the registry");
        CO_TRY(at, at.resolve(std::string(body->headers().get("location"))));
        const std::string authorization = at.origin() == home ? std::string(headers.get("authorization")) : "";
        net::Headers others;
        for (const auto& [name, value] : headers.fields()) {
            if (name != "authorization") others.add(name, value);
        }
        CO_TRY(body, co_await client_.open(at.text(), request_with(with(others, authorization))));
    }
    co_return std::move(body);
}

Task<RegistrySession::Body> RegistrySession::get_once(std::string endpoint, std::string path, net::Headers headers) {
    const std::string url = url_of(endpoint, path);
    for (bool authorized = false;; authorized = true) {
        const net::Headers all = with(headers, authorization_[endpoint]);
        CO_TRY(auto body, co_await client_.open(url, request_with(all)));
        if (body->code() == 401 && !authorized) {
            const net::Headers answer = body->headers();
            body.reset();
            CO_TRY_VOID(co_await authorize(endpoint, answer));
            continue;
        }
        CO_TRY(body, co_await follow(url, std::move(body), all));
        if (body->code() == 200 || body->code() == 206) co_return std::move(body);
        CO_TRY(Error error, co_await refusal(*body));
        co_return error;
    }
}

/// Each endpoint in turn; once one has answered, that one.
Task<RegistrySession::Body> RegistrySession::get(std::string path, net::Headers headers) {
    const auto endpoints = endpoint_.empty() ? client_.endpoints(reference_.registry) : std::vector{endpoint_};
    Error error(Reason::NotFound, "no endpoint is configured for " + reference_.registry);
    for (const std::string& endpoint : endpoints) {
        for (int attempt = 0; attempt < Attempts; ++attempt) {
            if (attempt > 0) CO_TRY_VOID(co_await loop_.sleep(500ms * (1 << attempt)));
            auto body = co_await get_once(endpoint, path, headers);
            if (body) {
                endpoint_ = endpoint;
                co_return std::move(*body);
            }
            error = std::move(body).error();
            if (is_cancelled(error)) co_return error;
            if (!is_worth_retrying(error)) break;
        }
    }
    co_return error;
}

Task<RegistrySession::Fetched> RegistrySession::manifest(std::string wanted) {
    CO_TRY(const auto body, co_await get("/manifests/" + wanted, {{"accept", ManifestTypes}}));
    CO_TRY(std::string text, co_await read_body(*body, ManifestLimit));
    std::string digest = digest_of(text);
    if (wanted.starts_with("sha256:") && digest != wanted) co_return Error(Reason::Invalid, "the manifest is not the one named " + wanted);
    co_return Fetched{std::move(text), std::move(digest)};
}

Task<std::string> RegistrySession::blob(Descriptor descriptor, std::size_t limit) {
    CO_TRY(const auto body, co_await get(blob_path(descriptor), {}));
    CO_TRY(std::string text, co_await read_body(*body, limit));
    if (digest_of(text) != descriptor.digest) co_return Error(Reason::Invalid, "the blob is not the one named " + descriptor.digest);
    co_return text;
}

Task<> RegistrySession::receive(Download& download) {
    net::Headers headers;
    if (download.received > 0) headers.add("range", "bytes=" + std::to_string(download.received) + "-");
    CO_TRY(const auto body, co_await get(blob_path(download.descriptor), std::move(headers)));
    if (body->code() == 200 && download.received > 0) CO_TRY_VOID(download.restart());
    for (;;) {
        CO_TRY(const auto piece, co_await with_timeout(body->next(), SilenceLimit, "the registry sends nothing"));
        if (!piece) co_return {};
        CO_TRY_VOID(download.add(*piece));
    }
}

Task<> RegistrySession::download(Descriptor descriptor, std::string path) {
    Download download{.descriptor = std::move(descriptor), .path = path};
    download.file = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!download.file) co_return io_error("making", path);
    for (int idle_attempts = 0; !download.complete();) {
        const std::uint64_t before = download.received;
        auto received = co_await receive(download);
        const bool broken_connection = !received && (is_worth_retrying(received.error()) || received.error().reason == Reason::Io);
        if (!received && (download.disk_failed || !broken_connection)) co_return received;
        if (download.complete()) break;
        if (download.received > before) {
            idle_attempts = 0;
        } else if (++idle_attempts == Attempts) {
            if (!received) co_return received;
            co_return Error(Reason::Invalid, download.descriptor.digest + " is shorter than the manifest says");
        }
        CO_TRY_VOID(co_await loop_.sleep(500ms));
    }
    if ("sha256:" + download.hash.finish_hex() != download.descriptor.digest)
        co_return Error(Reason::Invalid, "what the registry sent is not " + download.descriptor.digest);
    co_return {};
}

Task<ImagePlan> RegistrySource::plan(HostPlatform host) {
    auto top = co_await session_.manifest(reference_.wanted());
    if (!top) {
        Error error = std::move(top).error();
        if (error.reason == Reason::NotFound) error.message = reference_.text() + ": not found";
        co_return std::move(error).with_context("failed to resolve reference \"" + reference_.text() + "\"");
    }
    std::string text = std::move(top->body);
    CO_TRY(Manifest manifest, parse_manifest(text));
    for (int depth = 0; manifest.is_index; ++depth) {
        if (depth == DeepestManifestList) co_return Error(Reason::Invalid, "manifest lists are nested too deeply");
        CO_TRY(const Descriptor chosen, choose_manifest(manifest, host));
        CO_TRY(const auto next, co_await session_.manifest(chosen.digest));
        CO_TRY(manifest, parse_manifest(next.body));
    }
    std::vector<LayerPlan> layers;
    for (Descriptor& layer : manifest.layers) layers.push_back({.blob = std::move(layer)});
    CO_TRY(std::string config, co_await session_.blob(manifest.config, ConfigLimit));
    CO_TRY(ImagePlan plan, make_plan(std::move(config), std::move(layers), host));
    if (!reference_.tag.empty()) plan.tags.push_back(reference_.tag_text());
    plan.digests.push_back(reference_.digest_text(top->digest));
    co_return plan;
}

Task<BlobPlace> RegistrySource::fetch(LayerPlan layer, std::string scratch) {
    const std::uint64_t size = layer.blob.size;
    CO_TRY_VOID(co_await session_.download(std::move(layer.blob), scratch));
    co_return BlobPlace{.path = scratch, .size = size};
}

}  // namespace porthole::winhost
