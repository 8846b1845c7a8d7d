#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/events.h"
#include "client/fake/fake_api.h"
#include "kubelet/sim/fake_node.h"
#include "kubelet/volumes/busy_workers_fixture.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/framework/token_source.h"
#include "kubelet/volumes/image/image_volumes.h"
#include "kubelet/volumes/object_volumes/pod_certificates.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "kubelet/volumes/volume_manager.h"
#include "runtime/processes/process.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Tokens that name their audience.
struct Tokens final : TokenSource {
    int asked = 0;
    Task<ServiceAccountToken> token(std::shared_ptr<const core::Pod>, std::string audience, std::int64_t) override {
        ++asked;
        co_return ServiceAccountToken{"token-for-" + audience, {}};
    }
    void forget_pod(const std::string&) override {}
};

/// Objects set by the test.
struct Objects final : ObjectSource {
    std::map<std::string, core::ConfigMap> maps;
    std::map<std::string, core::Secret> secrets;
    Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string, std::string name) override {
        if (!maps.contains(name)) co_return Error(Reason::NotFound, "configmap \"" + name + "\" not found");
        co_return std::make_shared<const core::ConfigMap>(maps[name]);
    }
    Task<std::shared_ptr<const core::Secret>> secret(std::string, std::string name) override {
        if (!secrets.contains(name)) co_return Error(Reason::NotFound, "secret \"" + name + "\" not found");
        co_return std::make_shared<const core::Secret>(secrets[name]);
    }
};

/// Records mounts; "missing:1" does not exist.
struct Images final : ImageVolumes {
    explicit Images(sim::FakeMounter& of) : mounter(of) {}
    Task<std::string> pull(std::shared_ptr<const core::Pod>, core::ImageVolumeSource source) override {
        if (source.reference == "missing:1") co_return Error(Reason::Unavailable, "ErrImagePull: not found");
        policies.push_back(source.pull_policy);
        co_return source.reference;
    }
    Task<> mount(std::string image, std::string directory) override {
        mounter.mounts[directory] = image;
        co_return {};
    }
    sim::FakeMounter& mounter;
    std::vector<std::string> policies;  ///< of each pull
};

/// `mount` on a node without network: records mounts, or fails as requested.
struct FakeMount final : ProcessRunner {
    explicit FakeMount(sim::FakeMounter& of) : mounter(of) {}
    Task<CommandOutput> run(Command command) override {
        calls.push_back(command.arguments);
        if (fails_after_mounting || result.exit_code == 0) mounter.mounts[command.arguments.back()] = *(command.arguments.end() - 2);
        co_return result;
    }
    sim::FakeMounter& mounter;
    std::vector<std::vector<std::string>> calls;
    CommandOutput result;
    bool fails_after_mounting = false;
};

/// The volume manager of a node in memory, with a fake API.
struct VolumesTest : testing::Test {
    VolumesTest() {
        objects.maps["settings"].data = {{"color", "red"}, {"size", "9"}};
        objects.secrets["hidden"].data = {{"password", "pw"}};
    }
    /// A claim "data" that is bound to the volume "pv1", which is `volume` otherwise.
    void put_claim_of(core::PersistentVolume volume) {
        core::PersistentVolumeClaim claim;
        claim.metadata.name = "data";
        claim.metadata.namespace_ = "ns";
        claim.spec.volume_name = volume.metadata.name = "pv1";
        claim.status.phase = "Bound";
        volume.spec.claim_ref.emplace().uid = api.put(claim).metadata.uid;
        api.put(volume);
    }
    VolumeHost host_with(WorkerPool& workers, ProcessRunner& runner) {
        return {.loop = loop, .random = random, .files = files, .workers = workers, .mounter = mounter, .programs = &runner};
    }
    /// Another manager, whose `on` outlives it.
    VolumeManager manager_on(const VolumeHost& on, VolumeProviders with = {}, std::string root = "/k") {
        return {{on, volume_api, with}, Logger(make_null_sink(), ""), std::move(root)};
    }
    /// `spec` has the volumes; the container mounts each at "/<name>".
    Result<std::vector<cri::Mount>> mounts(const std::string& spec) {
        core::Pod made = schema::decode_json<core::Pod>(
                             R"({"metadata":{"name":"p","namespace":"ns","uid":"u","labels":{"app":"x"}},"spec":)" + spec + "}")
                             .value();
        if (made.spec.containers.empty()) {
            core::Container& container = made.spec.containers.emplace_back();
            container.name = "c";
            for (const core::Volume& volume : made.spec.volumes) {
                core::VolumeMount& mount = container.volume_mounts.emplace_back();
                mount.name = volume.name;
                mount.mount_path = "/" + volume.name;
            }
        }
        pod = std::make_shared<core::Pod>(std::move(made));
        TRY(const MountedVolumes volumes, porthole::sim::run(loop, manager.set_up(pod, allocatable)));
        TRY(devices, manager.devices_for(pod->spec.containers[0], volumes));
        return porthole::sim::run(loop, manager.mounts_for(*pod, pod->spec.containers[0], volumes, {{"POD", "p"}}, recursive_read_only));
    }

    porthole::sim::SimLoop loop;
    SeededRandom random{1};
    porthole::sim::MemoryFileSystem files{loop};
    porthole::sim::SimWorkerPool pool{loop};
    sim::FakeMounter mounter;
    Objects objects;
    Tokens tokens;
    client::FakeApi api{loop};
    client::Client client{api};
    client::EventRecorder events{loop, client, Logger(make_null_sink(), ""), "kubelet", "n1"};
    ResourceList allocatable{{"cpu", Quantity::from_value(4)}, {"memory", Quantity::from_value(8ll << 30)}};
    bool recursive_read_only = false;
    std::vector<cri::Device> devices;  ///< that mounts() found
    Images images{mounter};
    FakeMount programs{mounter};
    PodCertificates certificates{loop, random, pool, client, events, "n1"};
    VolumeHost host = host_with(pool, programs);
    VolumeApi volume_api{.client = client, .events = events, .objects = objects, .tokens = tokens, .certificates = &certificates};
    VolumeManager manager = manager_on(host, {.images = &images});
    std::shared_ptr<const core::Pod> pod;
};

}  // namespace porthole::kubelet
