#include "controllers/attach_detach/attach_detach.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "base/strings.h"
#include "objects/conditions.h"
#include "objects/csi_volume.h"

namespace porthole::controllers {

using namespace std::chrono_literals;
using api::core::v1::Node;
using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;
using api::storage::v1::CSIDriver;
using client::NamespacedName;
using client::Requeue;

namespace {

/// How long an unhealthy node may keep a volume that no pod wants there.
constexpr auto LongestUnmount = 6min;
/// How long an attacher may take before pods are told.
constexpr auto AttacherTimeout = 2min;
/// After this time the cache ought to show a VolumeAttachment that was made.
constexpr auto CacheLag = 10s;
constexpr client::WorkQueue::RateLimit Backoff{.first = 500ms, .longest = 122s};

bool is_out_of_service(const Node& node) {
    return std::ranges::any_of(node.spec.taints, [](const auto& taint) { return taint.key == "node.kubernetes.io/out-of-service"; });
}

std::set<std::string> in_use_on(const Node& node) { return {node.status.volumes_in_use.begin(), node.status.volumes_in_use.end()}; }

bool looks_the_same(const Node& a, const Node& b) {
    return a.metadata.annotations == b.metadata.annotations && a.spec.taints == b.spec.taints &&
           objects::is_ready(a) == objects::is_ready(b) && a.status.volumes_in_use == b.status.volumes_in_use &&
           a.status.volumes_attached == b.status.volumes_attached;
}

}  // namespace

AttachDetachController::AttachDetachController(Context& context)
    : Controller(context.loop, context.log, {.name = "attachdetach", .workers = 10}, Backoff),
      client_(context.client),
      events_(context.events.get("attachdetach-controller")),
      volumes_(context.informers),
      pods_(context.informers.get<Pod>()),
      nodes_(context.informers.get<Node>()),
      attachments_(context.informers.get<Attachment>()),
      by_node_(attachments_.add_index([](const Attachment& one) { return std::vector{one.spec.node_name}; })),
      by_persistent_volume_(
          attachments_.add_index([](const Attachment& one) { return std::vector{one.spec.source.persistent_volume_name.value_or("")}; })),
      nodes_by_volume_(nodes_.add_index([](const Node& node) {
          std::vector<std::string> names;
          for (const auto& attached : node.status.volumes_attached) names.push_back(attached.name);
          return names;
      })),
      pods_by_node_(context.pods_by_node()),
      report_(context.client, nodes_) {
    watch(context);
}

void AttachDetachController::watch(Context& context) {
    depends_on(pods_).subscribe({.added = [this](const auto& pod) { add_all(volumes_.names_of(*pod)); },
                                 .updated =
                                     [this](const auto& old, const auto& pod) {
                                         if (old->spec.node_name != pod->spec.node_name ||
                                             AttachableVolumes::is_over(*old) != AttachableVolumes::is_over(*pod))
                                             add_all(volumes_.names_of(*pod));
                                     },
                                 .deleted = [this](const auto& pod) { add_all(volumes_.names_of(*pod)); }});
    depends_on(context.informers.get<PersistentVolumeClaim>()).on_change([this](const PersistentVolumeClaim& claim) {
        add_all(volumes_.names_of_claim(claim.metadata.namespace_, claim.metadata.name));
    });
    depends_on(context.informers.get<PersistentVolume>()).on_change([this](const PersistentVolume& volume) {
        for (const auto& attachment : by_persistent_volume_.find(volume.metadata.name)) attachment_seen(*attachment);
        if (const std::string name = AttachableVolumes::name_of(volume); !name.empty()) queue().add({"", name});
    });
    depends_on(context.informers.get<CSIDriver>()).on_change([this](const CSIDriver& driver) {
        add_all(volumes_.names_of_driver(driver.metadata.name));
    });
    depends_on(nodes_).subscribe({.added =
                                      [this](const auto& node) {
                                          in_use_[node->metadata.name] = in_use_on(*node);
                                          node_changed(*node);
                                      },
                                  .updated =
                                      [this](const auto& old, const auto& node) {
                                          if (looks_the_same(*old, *node)) return;
                                          in_use_[node->metadata.name] = in_use_on(*node);
                                          node_changed(*node);
                                      },
                                  .deleted =
                                      [this](const auto& node) {
                                          if (by_node_.find(node->metadata.name).empty()) in_use_.erase(node->metadata.name);
                                          report_.node_gone(node->metadata.name);
                                          node_changed(*node);
                                      }});
    depends_on(attachments_)
        .subscribe({.added = [this](const auto& attachment) { attachment_seen(*attachment); },
                    .updated = [this](const auto&, const auto& attachment) { attachment_seen(*attachment); },
                    .deleted = [this](const auto& attachment) { attachment_gone(*attachment); }});
}

void AttachDetachController::add_all(const std::vector<std::string>& volumes) {
    for (const std::string& volume : volumes) queue().add({"", volume});
}

void AttachDetachController::node_changed(const Node& node) {
    for (const auto& attachment : by_node_.find(node.metadata.name)) attachment_seen(*attachment);
    for (const auto& attached : node.status.volumes_attached) queue().add({"", attached.name});
    for (const WantedVolume::PodRef& pod : pods_by_node_.find(node.metadata.name)) add_all(volumes_.names_of(*pod));
}

void AttachDetachController::attachment_seen(const Attachment& attachment) {
    const std::string& name = attachment.metadata.name;
    std::string& volume = volume_of_[name];
    if (volume.empty()) volume = volumes_.name_of(attachment);
    if (volume.empty()) {  // its PersistentVolume is gone, but the node may know
        const auto node = nodes_.find({"", attachment.spec.node_name});
        for (const auto& attached : node ? node->status.volumes_attached : decltype(node->status.volumes_attached)()) {
            const auto parsed = objects::parse_unique_volume_name(attached.name);
            if (parsed && objects::attachment_name(parsed->driver, parsed->handle, attachment.spec.node_name) == name)
                volume = attached.name;
        }
    }
    if (volume.empty()) return void(volume_of_.erase(name));
    names_[volume].insert(name);
    report(attachment);
    queue().add({"", volume});
}

void AttachDetachController::report(const Attachment& attachment) {
    const std::string& node = attachment.spec.node_name;
    const auto volume = volume_of_.find(attachment.metadata.name);
    if (volume == volume_of_.end()) return;
    const auto progress = progress_.find({volume->second, node});
    const bool withdrawn = progress != progress_.end() && progress->second.withdrawn;
    report_.set_attached(node, volume->second, attachment.status.attached && !attachment.metadata.deletion_timestamp && !withdrawn);
}

void AttachDetachController::attachment_gone(const Attachment& attachment) {
    const std::string& node = attachment.spec.node_name;
    if (!nodes_.find({"", node}) && by_node_.find(node).empty()) in_use_.erase(node);
    const auto found = volume_of_.find(attachment.metadata.name);
    if (found == volume_of_.end()) return;
    const std::string volume = found->second;
    volume_of_.erase(found);
    report_.set_attached(node, volume, false);
    names_[volume].erase(attachment.metadata.name);
    if (names_[volume].empty()) names_.erase(volume);
    queue().add({"", volume});
}

std::map<std::string, AttachDetachController::AttachmentRef> AttachDetachController::attachments_of(const std::string& volume) const {
    std::map<std::string, AttachmentRef> found;
    const auto names = names_.find(volume);
    if (names == names_.end()) return found;
    for (const std::string& name : names->second)
        if (AttachmentRef attachment = attachments_.find({"", name})) found[attachment->spec.node_name] = std::move(attachment);
    return found;
}

Task<Requeue> AttachDetachController::reconcile(NamespacedName key) {
    const std::string volume = key.name;
    const auto wanted = volumes_.find_wanted(volume);
    const auto is_wanted = [&](const std::string& node) { return wanted && wanted->nodes.contains(node); };
    std::set<std::string> touched;
    std::optional<Error> failure;
    const auto keep_going = [&](Result<void> result) {
        if (!result && !failure) failure = std::move(result).error();
    };
    for (const auto& [node, attachment] : attachments_of(volume)) {
        touched.insert(node);
        if (!is_wanted(node)) keep_going(co_await detach(volume, attachment));
    }
    if (wanted) {
        for (const auto& [node, pods] : wanted->nodes) {
            touched.insert(node);
            keep_going(co_await attach(volume, node, *wanted));
        }
    }
    for (const auto& node : nodes_by_volume_.find(volume)) touched.insert(node->metadata.name);
    for (const std::string& node : touched) keep_going(co_await report_.write(node));
    if (failure) co_return std::move(*failure);
    co_return next_look(volume, wanted);
}

Task<> AttachDetachController::detach(std::string volume, AttachmentRef attachment) {
    if (attachment->metadata.deletion_timestamp) co_return {};
    const std::string& node_name = attachment->spec.node_name;
    Progress& progress = progress_[{volume, node_name}];
    progress.attaching.reset();
    if (!progress.unwanted) progress.unwanted = loop().now();
    const auto node = nodes_.find({"", node_name});
    const bool expired = loop().now() - *progress.unwanted >= LongestUnmount;
    const bool out_of_service = node && is_out_of_service(*node);
    const bool forced = out_of_service || (expired && !(node && objects::is_ready(*node)));
    if (is_in_use(volume, node_name) && !forced) co_return {};

    progress.withdrawn = true;
    report(*attachment);
    CO_TRY_VOID(co_await report_.write(node_name));
    if (!expired && !out_of_service) {  // the cache may not know yet that the kubelet has begun to mount it
        const auto live = co_await client_.get<Node>({"", node_name});
        if (!live && !is_not_found(live)) co_return live.error();
        if (live && in_use_on(*live).contains(volume))
            co_return Error(Reason::Conflict, "volume is still in use by node, according to Node status");
    }
    const std::string reason = out_of_service ? "out-of-service" : "timeout";
    if (forced) log().warn("detaching by force", {{"volume", volume}, {"node", node_name}, {"reason", reason}});
    const auto removed = co_await client_.remove<Attachment>({"", attachment->metadata.name}, {.uid = attachment->metadata.uid});
    if (!removed && !is_not_found(removed)) co_return removed.error();
    if (forced && !std::exchange(progress_[{volume, node_name}].forced, true)) ++forced_detaches_[reason];
    log().info("volume is being detached", {{"volume", volume}, {"node", node_name}});
    co_return {};
}

bool AttachDetachController::is_in_use(const std::string& volume, const std::string& node) const {
    const auto known = in_use_.find(node);
    return known == in_use_.end() || known->second.contains(volume);
}

Task<> AttachDetachController::attach(std::string volume, std::string node, const WantedVolume& wanted) {
    Progress& progress = progress_[{volume, node}];
    progress.unwanted.reset();
    const auto name = objects::parse_unique_volume_name(volume);
    const std::string attachment_name = objects::attachment_name(name->driver, name->handle, node);
    if (const auto found = attachments_.find({"", attachment_name})) {
        progress.created.reset();
        if (found->metadata.deletion_timestamp) co_return {};  // and is made again when it is gone
        progress.withdrawn = false;
        report(*found);
        follow(volume, node, *found, wanted);
        co_return {};
    }
    if (progress.created && loop().now() - *progress.created < CacheLag) co_return {};
    if (wanted.exclusive && is_taken(volume, node, wanted)) co_return {};
    Attachment attachment;
    attachment.metadata.name = attachment_name;
    attachment.spec.attacher = name->driver;
    attachment.spec.node_name = node;
    attachment.spec.source = wanted.source;
    volume_of_[attachment_name] = volume;
    names_[volume].insert(attachment_name);
    progress = {.created = loop().now(), .attaching = loop().now()};
    const auto created = co_await client_.create(std::move(attachment));
    if (created || created.error().reason == Reason::AlreadyExists) co_return {};
    progress.created.reset();
    if (!is_cancelled(created)) fail(wanted, node, created.error().message);
    co_return created.error();
}

void AttachDetachController::follow(const std::string& volume, const std::string& node, const Attachment& attachment,
                                    const WantedVolume& wanted) {
    Progress& progress = progress_[{volume, node}];
    if (attachment.status.attached) {
        if (!progress.attaching) return;
        progress.attaching.reset();
        for (const auto& pod : wanted.nodes.at(node))
            events_.normal(*pod, "SuccessfulAttachVolume", "AttachVolume.Attach succeeded for volume " + quote(wanted.title) + " ");
        return;
    }
    if (!progress.attaching) progress.attaching = loop().now();
    if (const auto& error = attachment.status.attach_error) {
        const std::string text = error->time.to_string() + " " + error->message;
        if (text == progress.reported_error) return;
        progress.reported_error = text;
        progress.attaching = loop().now();
        fail(wanted, node, error->message);
    } else if (loop().now() - *progress.attaching >= AttacherTimeout) {
        progress.attaching = loop().now();
        const auto name = objects::parse_unique_volume_name(volume);
        fail(wanted, node, "timed out waiting for external-attacher of " + name->driver + " CSI driver to attach volume " + name->handle);
    }
}

void AttachDetachController::fail(const WantedVolume& wanted, const std::string& node, const std::string& why) {
    for (const auto& pod : wanted.nodes.at(node))
        events_.warning(*pod, "FailedAttachVolume", "AttachVolume.Attach failed for volume " + quote(wanted.title) + " : " + why);
}

bool AttachDetachController::is_taken(const std::string& volume, const std::string& node, const WantedVolume& wanted) {
    std::set<std::string> holders;
    bool moves = false;  // an attach or detach is in progress, and ends by itself
    for (const auto& [holder, attachment] : attachments_of(volume)) {
        holders.insert(holder);
        moves = moves || attachment->metadata.deletion_timestamp || (!attachment->status.attached && !attachment->status.attach_error);
    }
    for (auto one = progress_.lower_bound({volume, ""}); one != progress_.end() && one->first.first == volume; ++one) {
        if (!one->second.created || one->first.second == node || holders.contains(one->first.second)) continue;
        holders.insert(one->first.second);
        moves = true;
    }
    if (holders.empty()) return false;
    Progress& progress = progress_[{volume, node}];
    if (!moves && !progress.told_exclusive) {
        progress.told_exclusive = true;
        tell_exclusive(node, wanted, holders);
    }
    return true;
}

/// A user does not see names of pods in other namespaces.
void AttachDetachController::tell_exclusive(const std::string& node, const WantedVolume& wanted, const std::set<std::string>& holders) {
    std::vector<WantedVolume::PodRef> users;
    for (const std::string& holder : holders)
        if (const auto found = wanted.nodes.find(holder); found != wanted.nodes.end())
            users.insert(users.end(), found->second.begin(), found->second.end());
    for (const auto& pod : wanted.nodes.at(node)) {
        std::vector<std::string> names;
        for (const auto& user : users)
            if (user->metadata.namespace_ == pod->metadata.namespace_) names.push_back(user->metadata.name);
        const std::string others = std::to_string(users.size() - names.size()) + " pod(s) in different namespaces";
        std::string why = "Volume is already exclusively attached to one node and can't be attached to another";
        if (!names.empty())
            why = "Volume is already used by pod(s) " + join(names, ", ") + (names.size() < users.size() ? " and " + others : "");
        else if (!users.empty())
            why = "Volume is already used by " + others;
        events_.warning(*pod, "FailedAttachVolume", "Multi-Attach error for volume " + quote(wanted.title) + " " + why);
    }
}

Requeue AttachDetachController::next_look(const std::string& volume, const std::optional<WantedVolume>& wanted) {
    std::optional<MonotonicTime> next;
    const auto consider = [&](const std::optional<MonotonicTime>& since, Duration delay) {
        if (since && *since + delay > loop().now() && (!next || *since + delay < *next)) next = *since + delay;
    };
    const auto attachments = attachments_of(volume);
    for (auto one = progress_.lower_bound({volume, ""}); one != progress_.end() && one->first.first == volume;) {
        const std::string& node = one->first.second;
        const Progress& progress = one->second;
        if (!attachments.contains(node) && !progress.created && !(wanted && wanted->nodes.contains(node))) {
            one = progress_.erase(one);
            continue;
        }
        consider(progress.created, CacheLag);
        consider(progress.attaching, AttacherTimeout);
        consider(progress.unwanted, LongestUnmount);
        ++one;
    }
    return next ? Requeue::in(*next - loop().now()) : Requeue::never();
}

Result<ControllerPtr> make_attach_detach(Context& context) { return make_controller<AttachDetachController>(context); }

}  // namespace porthole::controllers
