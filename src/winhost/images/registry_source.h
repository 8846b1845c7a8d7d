#pragma once  // private to this folder
#include "winhost/images/image_source.h"
#include "winhost/images/registry_session.h"

namespace porthole::winhost {

/// An image that stands in a registry.
class RegistrySource final : public LayerSupply {
public:
    RegistrySource(RegistryClient& client, EventLoop& loop, Reference reference, Credentials credentials)
        : reference_(reference), session_(client, loop, std::move(reference), std::move(credentials)) {}

    /// What has to be done for `host` to have the image. Errors: as ImageStore::pull.
    Task<ImagePlan> plan(HostPlatform host);
    Task<BlobPlace> fetch(LayerPlan layer, std::string scratch) override;

private:
    Reference reference_;
    RegistrySession session_;
};

}  // namespace porthole::winhost
