#pragma once
#include <string>

namespace porthole {
class EventLoop;
class FileSystem;
class ProcessRunner;
class Random;
class WorkerPool;
}  // namespace porthole

namespace porthole::client {
class Client;
class EventRecorder;
}  // namespace porthole::client

// The collaborators of volumes, by where they come from. All outlive the volumes and live on the kubelet's loop.
namespace porthole::kubelet {

class CsiVolumes;
class DeviceVolumes;
class FlexVolumes;
class ImageVolumes;
class LocalVolumes;
class Mounter;
class ObjectSource;
class PodCertificates;
class SelinuxContexts;
class TokenSource;

/// The node.
struct VolumeHost {
    EventLoop& loop;
    Random& random;
    FileSystem& files;
    WorkerPool& workers;
    Mounter& mounter;
    ProcessRunner* programs = nullptr;   ///< for mounts that need a program; null if none is run
    SelinuxContexts* selinux = nullptr;  ///< null where SELinux is off
    bool windows = false;
    std::string object_volumes_refusal = {};  ///< why it cannot have volumes of files out of the API; "" if it can
};

/// The API, and what it has for pods.
struct VolumeApi {
    client::Client& client;
    client::EventRecorder& events;
    ObjectSource& objects;
    TokenSource& tokens;
    PodCertificates* certificates = nullptr;  ///< null if pods can have none
};

/// What sets up the volumes of several plugins, or keeps them between pods; null where the node has no such volumes.
struct VolumeProviders {
    ImageVolumes* images = nullptr;
    LocalVolumes* local = nullptr;
    CsiVolumes* csi = nullptr;
    DeviceVolumes* devices = nullptr;
    FlexVolumes* flex = nullptr;
};

/// What a plugin is made of: each takes what it uses.
struct VolumeDependencies {
    const VolumeHost& host;
    const VolumeApi& api;
    VolumeProviders providers = {};
};

}  // namespace porthole::kubelet
