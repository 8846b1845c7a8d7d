#include "kubelet/images/pulled_image_volumes.h"

#include "kubelet/images/image_name.h"

namespace porthole::kubelet {

Task<std::string> PulledImageVolumes::pull(std::shared_ptr<const core::Pod> pod, core::ImageVolumeSource source) {
    std::vector<std::shared_ptr<const core::Secret>> secrets;  // those that are missing are an event of the pod's, not an error here
    for (const core::LocalObjectReference& reference : pod->spec.image_pull_secrets) {
        auto secret = co_await objects_.secret(pod->metadata.namespace_, reference.name);
        if (is_cancelled(secret)) co_return std::move(secret).error();
        if (secret) secrets.push_back(*std::move(secret));
    }
    WantedImage wanted{
        .reference = reference_to(*pod), .pod_uid = pod->metadata.uid, .name = source.reference, .pull_policy = source.pull_policy};
    CO_TRY(const ImageOutcome image, co_await puller_.ensure_image(std::move(wanted), std::move(secrets), {}));
    if (image.failure) co_return Error(Reason::Unavailable, image.failure->reason + ": " + image.failure->message);
    co_return image.ref;
}

std::set<std::string> images_of_volumes(const std::vector<std::shared_ptr<const core::Pod>>& pods) {
    std::set<std::string> images;
    for (const auto& pod : pods) {
        for (const core::Volume& volume : pod->spec.volumes) {
            if (!volume.image) continue;
            if (const auto name = parse_image_name(volume.image->reference)) images.insert(name->canonical());
        }
    }
    return images;
}

}  // namespace porthole::kubelet
