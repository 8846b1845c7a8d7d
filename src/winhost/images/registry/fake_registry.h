#pragma once  // for tests
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "net/http/http_client.h"
#include "net/tls/crypto.h"
#include "winhost/images/registry/registry_client.h"
#include "winhost/images/registry/url.h"

namespace porthole::winhost {

/// A registry in memory. `pages` maps an address without its query to its content; any other request is answered 404.
class FakeRegistry final : public RegistryClient {
public:
    struct Page {
        std::string body;
        int code = 200;
        net::Headers headers;
    };
    std::map<std::string, Page> pages;
    std::map<std::string, std::string> wanted_authorization;  ///< by origin; without it: 401 with `challenge`
    std::string challenge;
    std::deque<std::size_t> cuts;  ///< the next blob bodies break off after so many bytes
    bool ignores_ranges = false;
    std::vector<std::string> endpoint_list{"http://registry.test:5000"};

    struct Seen {
        std::string url, authorization, range, body;
    };
    std::vector<Seen> requests;

    static std::string digest(const std::string& content) { return "sha256:" + net::sha256_hex(content); }
    std::string add_blob(const std::string& repository, const std::string& content) {
        pages[endpoint_list.back() + "/v2/" + repository + "/blobs/" + digest(content)] = {content};
        return digest(content);
    }
    std::string add_manifest(const std::string& repository, const std::string& content, const std::string& tag = "") {
        const std::string base = endpoint_list.back() + "/v2/" + repository + "/manifests/";
        pages[base + digest(content)] = {content};
        if (!tag.empty()) pages[base + tag] = {content};
        return digest(content);
    }
    std::size_t count(const std::string& part) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(requests, [&](const Seen& seen) { return seen.url.find(part) != std::string::npos; }));
    }

    std::vector<std::string> endpoints(const std::string&) const override { return endpoint_list; }
    Task<std::unique_ptr<net::HttpBody>> open(std::string url, net::HttpRequest request) override;

private:
    class Body;
};

/// In pieces of at most 1000 bytes, each in its own turn of the loop.
class FakeRegistry::Body final : public net::HttpBody {
public:
    Body(Page page, std::size_t cut) : page_(std::move(page)), cut_(cut) {}
    int code() const override { return page_.code; }
    const net::Headers& headers() const override { return page_.headers; }
    Task<std::optional<std::string>> next() override {
        CO_TRY_VOID(co_await pause());
        if (sent_ >= cut_) co_return Error(Reason::Unavailable, "connection reset by peer");
        if (sent_ >= page_.body.size()) co_return std::optional<std::string>();
        const std::string piece = page_.body.substr(sent_, std::min<std::size_t>(1000, cut_ - sent_));
        sent_ += piece.size();
        co_return std::optional(piece);
    }

private:
    class Pause final : public Operation<void> {
        void start() override {
            loop().post([this] { complete({}); });
        }
        void cancel() override {}
    };
    static Task<> pause() {
        Pause pause;
        co_return co_await pause;
    }
    Page page_;
    std::size_t cut_, sent_ = 0;
};

inline Task<std::unique_ptr<net::HttpBody>> FakeRegistry::open(std::string text, net::HttpRequest request) {
    CO_TRY(const Url url, Url::parse(text));
    const std::string authorization(request.headers.get("authorization")), range(request.headers.get("range"));
    requests.push_back({text, authorization, range, request.body});
    const auto wanted = wanted_authorization.find(url.origin());
    if (wanted != wanted_authorization.end() && authorization != wanted->second)
        co_return std::make_unique<Body>(Page{"", 401, {{"www-authenticate", challenge}}}, std::string::npos);
    const auto found = pages.find(url.origin() + url.path);
    if (found == pages.end()) {
        Page missing{R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]})", 404, {}};
        co_return std::make_unique<Body>(std::move(missing), std::string::npos);
    }
    Page page = found->second;
    if (!range.empty() && !ignores_ranges) {
        page.body.erase(0, std::stoull(range.substr(6)));
        page.code = 206;
    }
    std::size_t cut = std::string::npos;
    if (url.path.contains("/blobs/") && page.code != 307 && !cuts.empty()) {
        cut = cuts.front();
        cuts.pop_front();
    }
    co_return std::make_unique<Body>(std::move(page), cut);
}

}  // namespace porthole::winhost
