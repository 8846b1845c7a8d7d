#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "controllers/attach_detach/attachable_volumes.h"
#include "controllers/attach_detach/node_report.h"
#include "controllers/framework/metric_source.h"

namespace porthole::controllers {

/// Attaches volumes to the nodes of the pods that use them, and detaches them from other nodes, by creating and deleting VolumeAttachments.
///
/// Its keys are the unique names of volumes, without a namespace. All state that has to survive a restart is in the API: an attachment,
/// done or in progress, is a VolumeAttachment; the volumes that a kubelet may mount, or has mounted, are in the node's status. A volume is
/// detached in this order: the node no longer lists it as in use; the node's status no longer shows it as attached; the node is read once
/// more; the VolumeAttachment is deleted.
class AttachDetachController final : public client::Controller, public MetricSource {
public:
    static constexpr const char* Account = "attachdetach-controller";
    explicit AttachDetachController(Context& context);

    void append_metrics(std::string& out) const override;

private:
    using Node = api::core::v1::Node;
    using Pod = api::core::v1::Pod;
    using Attachment = api::storage::v1::VolumeAttachment;
    using AttachmentRef = std::shared_ptr<const Attachment>;

    /// The state of a volume on a node.
    struct Progress {
        std::optional<MonotonicTime> created;    ///< when this process created the VolumeAttachment, until the cache shows it
        std::optional<MonotonicTime> attaching;  ///< since when the attacher has been waited for
        std::optional<MonotonicTime> unwanted;   ///< since when it has been attached without need
        std::string reported_error;              ///< of the attacher, with its time
        bool told_exclusive = false;
        bool forced = false;     ///< it was detached without its node's consent
        bool withdrawn = false;  ///< about to be detached: the node must not mount it
    };
    using Place = std::pair<std::string, std::string>;  ///< volume and node

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    void watch(Context& context);
    void node_changed(const Node& node);
    void attachment_seen(const Attachment& attachment);
    void attachment_gone(const Attachment& attachment);
    void add_all(const std::vector<std::string>& volumes);

    /// The VolumeAttachments of the volume, by node.
    std::map<std::string, AttachmentRef> attachments_of(const std::string& volume) const;
    /// Whether the node may mount the volume may have changed.
    void report(const Attachment& attachment);

    Task<> detach(std::string volume, AttachmentRef attachment);
    Task<> attach(std::string volume, std::string node, const WantedVolume& wanted);
    /// The attachment is wanted and exists: reports its progress to its pods.
    /// `node`: the one in the attachment's name. A client may have written another one into its spec.
    void follow(const std::string& volume, const std::string& node, const Attachment& attachment, const WantedVolume& wanted);
    /// Whether another node keeps the exclusive volume; reports this to the pods of `node` once.
    bool is_taken(const std::string& volume, const std::string& node, const WantedVolume& wanted);
    void tell_exclusive(const std::string& node, const WantedVolume& wanted, const std::set<std::string>& holders);
    void fail(const WantedVolume& wanted, const std::string& node, const std::string& why);
    bool is_in_use(const std::string& volume, const std::string& node) const;
    /// Drops what is finished, and returns when a time limit will have passed.
    client::Requeue next_look(const std::string& volume, const std::optional<WantedVolume>& wanted);

    client::Client& client_;
    client::EventRecorder& events_;
    AttachableVolumes volumes_;
    client::Informer<Pod>& pods_;
    client::Informer<Node>& nodes_;
    client::Informer<Attachment>& attachments_;
    client::Informer<Attachment>::Index by_node_, by_persistent_volume_;
    client::Informer<Node>::Index nodes_by_volume_;  // in volumesAttached
    client::Informer<Pod>::Index pods_by_node_;
    NodeReport report_;
    std::map<std::string, std::set<std::string>> names_;   // of VolumeAttachments, by volume
    std::map<std::string, std::string> volume_of_;         // by VolumeAttachment
    std::map<std::string, std::set<std::string>> in_use_;  // by node, also of deleted ones that still have attachments
    std::map<Place, Progress> progress_;
    std::map<std::string, std::size_t> forced_detaches_;  // by reason
};

}  // namespace porthole::controllers
