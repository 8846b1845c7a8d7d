#pragma once  // private to winhost/images
#include <map>
#include <string>

#include "net/http/http.h"
#include "runtime/event_loop.h"
#include "winhost/images/content/image_source.h"
#include "winhost/images/content/manifest.h"
#include "winhost/images/content/reference.h"
#include "winhost/images/registry/registry_client.h"

namespace porthole::winhost {

/// The conversation with a registry about one repository: OCI distribution protocol, tokens, redirects, retries. One task at a time;
/// references outlive it.
class RegistrySession {
public:
    RegistrySession(RegistryClient& client, EventLoop& loop, Reference reference, Credentials credentials)
        : client_(client), loop_(loop), reference_(std::move(reference)), credentials_(std::move(credentials)) {}

    struct Fetched {
        std::string body, digest;
    };
    /// Fetches a manifest by tag or digest, from the first endpoint that has it; a digest is verified. Errors: NotFound, Unauthorized,
    /// Forbidden, Invalid, Unavailable.
    Task<Fetched> manifest(std::string wanted);
    /// Fetches a small blob. Errors: as above, and RequestEntityTooLarge.
    Task<std::string> blob(Descriptor descriptor, std::size_t limit);
    /// Downloads a blob into a file and verifies it. If the connection breaks, the download is resumed.
    Task<> download(Descriptor descriptor, std::string path);

private:
    using Body = std::unique_ptr<net::HttpBody>;
    struct Download;

    Task<Body> get(std::string path, net::Headers headers);
    Task<Body> get_once(std::string endpoint, std::string path, net::Headers headers);
    Task<Body> follow(std::string url, Body body, net::Headers headers);
    Task<> authorize(std::string endpoint, net::Headers challenge);
    Task<std::string> fetch_token(std::string realm, std::string service, std::string scope);
    Task<> receive(Download& download);
    std::string basic() const;
    std::string url_of(const std::string& endpoint, const std::string& path) const;
    std::string blob_path(const Descriptor& descriptor) const;

    RegistryClient& client_;
    EventLoop& loop_;
    Reference reference_;
    Credentials credentials_;
    std::map<std::string, std::string> authorization_;  ///< by endpoint
    std::string endpoint_;                              ///< the one that answered
};

/// An image in a registry.
class RegistrySource final : public LayerSupply {
public:
    RegistrySource(RegistryClient& client, EventLoop& loop, Reference reference, Credentials credentials)
        : reference_(reference), session_(client, loop, std::move(reference), std::move(credentials)) {}

    /// The steps that `host` needs to get the image. Errors: as ImageStore::pull.
    Task<ImagePlan> plan(HostPlatform host);
    Task<BlobPlace> fetch(LayerPlan layer, std::string scratch) override;

private:
    Reference reference_;
    RegistrySession session_;
};

}  // namespace porthole::winhost
