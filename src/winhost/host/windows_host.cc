#include "winhost/host/windows_host.h"
#include "runtime/files/file_lock.h"
#include "runtime/files/mounts.h"

#include <unistd.h>

#include <filesystem>

#include "base/strings.h"
#include "bundled_images/bundled_image_service.h"
#include "hns/emulator/data_plane/linux/linux_data_plane.h"
#include "hns/emulator/data_plane/linux/network_namespace.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/model/profile.h"
#include "hns/wire/host_file.h"
#include "hns/wire/server.h"
#include "schema/json/json.h"
#include "winhost/cri/cri_server.h"
#include "winhost/cri/image_service.h"
#include "winhost/host/cni_network.h"
#include "winhost/host/control.h"
#include "winhost/host/csi_server.h"
#include "winhost/host/host_container.h"
#include "winhost/images/image_store.h"
#include "winhost/runtime/runtime.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;
using schema::Value;

constexpr Duration ShutdownGrace = 25s;
constexpr const char* AllHosts = "/porthole-winhost";  ///< the cgroup above those of all hosts of this machine

/// One host a folder, until its process ends, however that is.
Result<FileLock> lock_folder(const std::string& folder) {
    TRY(auto lock, FileLock::try_take(join_path(folder, "lock")));
    if (!lock) return Error(Reason::Conflict, "another emulated host runs in " + folder);
    return *std::move(lock);
}

/// Cgroups are one tree for the whole machine; hosts of several clusters may have one name.
std::string unique_name(const std::string& name, const std::string& data) {
    char suffix[17];
    std::snprintf(suffix, sizeof suffix, "%08zx", std::hash<std::string>()(data) & 0xffffffff);
    return name + "-" + suffix;
}
std::string runtime_folder(const std::string& data) { return join_path(data, "r"); }
std::string host_folder(const std::string& data) { return Folder::of_host(data).path; }
std::string namespaces_folder(const std::string& data) { return join_path(data, "n"); }
std::string disks_folder(const std::string& data) { return join_path(data, "disks"); }
std::string host_cgroup(const std::string& name, const std::string& data) {
    return std::string(AllHosts) + "/" + unique_name(name, data) + "-host";
}

std::vector<std::string> names_of(const std::vector<Image>& images) {
    std::vector<std::string> names;
    for (const Image& image : images) {
        if (image.repo_tags.empty()) names.push_back(image.id);
        names.insert(names.end(), image.repo_tags.begin(), image.repo_tags.end());
    }
    return names;
}

IscsiInitiator::Services iscsi_of(const WindowsHostContext& context, const std::string& name, const std::string& data) {
    return {.programs = context.processes, .files = context.files, .host = unique_name(name, data), .name = name};
}

}  // namespace

struct WindowsHost::Impl {
    Impl(WindowsHostContext context, WindowsHostOptions options)
        : context(context), options(std::move(options)), iscsi(iscsi_of(this->context, this->options.name, this->options.data)) {}

    Task<> start();
    void warn_of_root() const;
    Task<> start_network();
    Task<> start_runtime();
    Result<void> start_csi();
    Task<> import_bundled(const bundled_images::BundledImage& image);
    Task<> boot();
    Result<void> listen();
    Result<void> remember_services();
    hns::wire::HostFile remembered_services();
    Task<> end_pods_and_host();
    Task<> power_off();
    Task<> reboot();
    Task<Value> load(std::string path);
    Value status() const;
    HostContainerContext host_context() const {
        return {context.loop, context.processes, context.files, context.pool, context.log.named("host")};
    }

    WindowsHostContext context;
    WindowsHostOptions options;
    std::optional<FileLock> lock;
    WineTemplate wine, containers_wine;  ///< of the host's own programs, and of its pods
    ContainerUsers users;
    std::string token, address;
    std::unique_ptr<hns::emulator::DataPlane> data_plane;
    std::unique_ptr<hns::emulator::Emulator> emulator;
    std::unique_ptr<hns::wire::Server> hns_server;
    std::unique_ptr<ImageStore> images;
    std::unique_ptr<HostContainer> host;
    std::unique_ptr<CniNetwork> network;
    std::unique_ptr<Runtime> runtime;
    std::unique_ptr<kubelet::ImageService> image_service;
    std::unique_ptr<bundled_images::BundledImageService> bundled;
    std::unique_ptr<CriServer> cri;
    IscsiInitiator iscsi;
    std::unique_ptr<CsiServer> csi;
    std::unique_ptr<ControlServer> control;
    Event shutdown_wanted;
    Semaphore power_switch{1};
    bool ready = false;
};

hns::wire::HostFile WindowsHost::Impl::remembered_services() {
    const auto text = context.files.read(join_path(options.data, "services.json"));
    auto file = text ? hns::wire::parse_host_file(*text) : Result<hns::wire::HostFile>(text.error());
    return file ? *std::move(file) : hns::wire::HostFile{};
}

Result<void> WindowsHost::Impl::remember_services() {
    const hns::wire::HostFile file{"127.0.0.1:" + std::to_string(hns_server->port()), "127.0.0.1:" + std::to_string(cri->tcp_port()), token,
                                   "127.0.0.1:" + std::to_string(csi->tcp_port())};
    return context.files.write(join_path(options.data, "services.json"), hns::wire::write_host_file(file), 0600);
}

/// The host network service, as it was, and its port on loopback: the same as before where that is free, because programs on a host that
/// goes on running know it.
Task<> WindowsHost::Impl::start_network() {
    const hns::emulator::Profile* profile = hns::emulator::find_profile(options.profile.name);
    if (!profile) co_return Error(Reason::BadRequest, "the host network service knows no profile " + options.profile.name);
    CO_TRY_VOID(context.files.create_directories(namespaces_folder(options.data), 0700));
    hns::emulator::LinuxOptions plane{.namespace_folder = namespaces_folder(options.data)};
    data_plane = hns::emulator::make_linux_data_plane(context.processes, context.pool, context.log.named("hns"), std::move(plane));
    emulator = std::make_unique<hns::emulator::Emulator>(
        hns::emulator::EmulatorContext{context.loop, context.files, context.random, *data_plane, context.log.named("hns")},
        hns::emulator::EmulatorOptions{.data_dir = join_path(options.data, "hns"), .profile = *profile});
    CO_TRY_VOID(co_await emulator->start());
    CO_TRY(const auto adapters, co_await data_plane->adapters());
    for (const auto& adapter : adapters)
        if (address.empty()) address = adapter.address;
    if (address.empty()) co_return Error(Reason::BadRequest, "the host's network namespace has no network adapter with an address");
    const hns::wire::HostFile known = remembered_services();
    token = known.token.empty() ? context.random.pick(48, "abcdefghijklmnopqrstuvwxyz0123456789") : known.token;
    const auto port = hns::wire::parse_host_and_port(known.hns);
    const hns::wire::SessionContext session{context.loop, *emulator,
                                            [this](std::string request) { return emulator->control(std::move(request)); }, token};
    hns_server = std::make_unique<hns::wire::Server>(context.loop, session, context.log.named("hns"));
    if (!port || !hns_server->listen("127.0.0.1", port->port)) CO_TRY_VOID(hns_server->listen("127.0.0.1", 0));
    co_return {};
}

Task<> WindowsHost::Impl::import_bundled(const bundled_images::BundledImage& image) {
    const std::string archive = join_path(options.data, "bundled.tar");
    CO_TRY_VOID(context.files.write(archive, image.archive, 0600));
    const auto imported = co_await images->import_archive(archive);
    CO_TRY_VOID(context.files.remove(archive));
    CO_TRY_VOID(imported);
    co_return {};
}

Task<> WindowsHost::Impl::start_runtime() {
    CO_TRY(const OsVersion version, OsVersion::parse(options.profile.version()));
    ImageStore::Options store{.root = join_path(options.data, "images"), .host = version};
    store.template_lowers = containers_wine.lowers(options.profile);
    store.template_id = containers_wine.id;
    store.pinned = {options.pause_image};
    CO_TRY(images, ImageStore::open(std::move(store), context.loop, context.pool, context.registries, context.log.named("images")));
    for (const Image& image : images->list())
        if (const std::string why = os_mismatch(image.config.os_version, version); !why.empty())
            context.log.warn("an image is pulled again when a pod needs it", {{"image", join(image.repo_tags, ", ")}, {"reason", why}});
    image_service = make_image_service(context.loop, *images, version, runtime_folder(options.data));
    bundled = std::make_unique<bundled_images::BundledImageService>(
        *image_service, [this](const bundled_images::BundledImage& image) { return import_bundled(image); });
    // Also where it is there: the host may play another build than at its last start. A sandbox image of others is pulled with the first
    // pod.
    if (const auto* pause = bundled_images::find_bundled_image(options.pause_image)) {
        CO_TRY_VOID(co_await import_bundled(*pause));
    }
    host = std::make_unique<HostContainer>(host_context(), HostContainerOptions{.name = options.name,
                                                                                .data = host_folder(options.data),
                                                                                .cgroup = host_cgroup(options.name, options.data),
                                                                                .programs = options.programs,
                                                                                .users = users,
                                                                                .profile = options.profile,
                                                                                .wine = wine});
    network =
        std::make_unique<CniNetwork>(CniNetworkContext{context.files, *emulator, *host}, host->root(), join_path(options.data, "cni"));
    runtime = std::make_unique<Runtime>(RuntimeContext{.loop = context.loop,
                                                       .processes = context.processes,
                                                       .files = context.files,
                                                       .pool = context.pool,
                                                       .random = context.random,
                                                       .images = *images,
                                                       .network = *network,
                                                       .log = context.log.named("runtime")},
                                        RuntimeOptions{.host_name = unique_name(options.name, options.data),
                                                       .data = runtime_folder(options.data),
                                                       .host_root = host->root(),
                                                       .host_socket = host->socket(),
                                                       .users = users,
                                                       .profile = options.profile,
                                                       .wine = containers_wine,
                                                       .sandbox_image = options.pause_image});
    CO_TRY_VOID(co_await runtime->start());
    cri = std::make_unique<CriServer>(context.loop, context.random, *runtime, *bundled, context.log.named("cri"));
    CriServerOptions sockets{.unix_socket = join_path(options.data, "cri.sock"), .token = token};
    const auto port = hns::wire::parse_host_and_port(remembered_services().cri);
    sockets.tcp_port = port ? port->port : std::uint16_t{0};
    CO_TRY_VOID(cri->listen(sockets));
    CO_TRY_VOID(start_csi());
    co_return remember_services();
}

Result<void> WindowsHost::Impl::start_csi() {
    TRY_VOID(context.files.create_directories(disks_folder(options.data), 0700));
    csi = std::make_unique<CsiServer>(CsiServer::Services{.loop = context.loop,
                                                          .pool = context.pool,
                                                          .programs = context.processes,
                                                          .files = context.files,
                                                          .random = context.random,
                                                          .host = *host,
                                                          .iscsi = iscsi,
                                                          .users = users,
                                                          .serial_number = unique_name(options.name, options.data),
                                                          .root = host->root(),
                                                          .shares_folder = join_path(options.data, "share"),
                                                          .volumes_folder = join_path(options.data, "volumes"),
                                                          .disks = disks_folder(options.data),
                                                          .iscsi_folder = join_path(options.data, "iscsi")},
                                      context.log.named("csi-proxy"));
    const auto port = hns::wire::parse_host_and_port(remembered_services().csi);
    return csi->listen(join_path(options.data, "csi.sock"), port ? port->port : std::uint16_t{0}, token);
}

Task<> WindowsHost::Impl::boot() {
    CO_TRY(const std::string file, context.files.read(join_path(options.data, "services.json")));
    HostServices services{.address = address, .host_file = file, .token = token};
    services.pipes.emplace_back("\\\\.\\pipe\\containerd-containerd", "127.0.0.1:" + std::to_string(cri->tcp_port()));
    const bool without_csi = context.files.exists(join_path(options.data, "without-csi-proxy"));
    for (const std::string& pipe : without_csi ? std::vector<std::string>() : csi_proxy::CsiProxy::pipes())
        services.pipes.emplace_back(pipe, "127.0.0.1:" + std::to_string(csi->tcp_port()));
    co_return co_await host->start(std::move(services));
}

Value WindowsHost::Impl::status() const {
    return Value::object({{"ready", ready},
                          {"name", options.name},
                          {"profile", options.profile.name},
                          {"osVersion", options.profile.version()},
                          {"address", address},
                          {"network", network->not_ready()},
                          {"wine", wine.version},
                          {"containersWine", containers_wine.version},
                          {"containerRoot", std::int64_t{users.root()}},
                          {"pid", static_cast<int>(::getpid())}});
}

Task<Value> WindowsHost::Impl::load(std::string path) {
    const auto imported = co_await images->import_archive(std::move(path));
    const bool other_system = !imported && imported.error().message.find("ImageOSMismatch") != std::string::npos;
    if (!other_system) CO_TRY_VOID(imported);
    schema::Array names;
    if (imported)
        for (const std::string& name : names_of(*imported)) names.emplace_back(name);
    co_return Value::object({{"images", std::move(names)}});
}

namespace {

Task<Value> nothing(Task<> work) {
    CO_TRY_VOID(co_await std::move(work));
    co_return Value::object();
}

Task<Value> as_document(Task<std::string> text) {
    CO_TRY(const std::string json, co_await std::move(text));
    co_return schema::parse_json(json);
}

Task<Value> at_once(Value value) { co_return value; }

}  // namespace

Result<void> WindowsHost::Impl::listen() {
    control = std::make_unique<ControlServer>(context.loop);
    control->add("status", [this](Value) { return at_once(status()); });
    control->add("load", [this](Value request) { return load(std::string(request.string_at({"path"}))); });
    control->add("fault", [this](Value request) { return as_document(emulator->control(std::string(request.string_at({"document"})))); });
    control->add("reboot", [this](Value) { return nothing(reboot()); });
    control->add("shutdown", [this](Value) {
        shutdown_wanted.set();
        return at_once(Value::object());
    });
    return control->listen(control_socket(options.data));
}

void WindowsHost::Impl::warn_of_root() const {
    const auto able = try_user_namespace(options.data, options.cache);
    context.log.warn(
        "programs on this host and in its pods run as root of the machine, though without its powers",
        {{"reason", able ? "the host's network was made without a user namespace; it has one after the next start of the cluster"
                         : able.error().message}});
}

Task<> WindowsHost::Impl::start() {
    CO_TRY_VOID(context.files.create_directories(options.data, 0700));
    CO_TRY(lock, lock_folder(options.data));
    TemplateContext building{context.loop, context.processes, context.files, context.pool,
                             [log = context.log](const std::string& step) { log.info("building the Wine template", {{"step", step}}); }};
    // First, as it may be unsuitable.
    CO_TRY(containers_wine, co_await ensure_wine_template(building, options.cache, options.wine_root));
    CO_TRY(wine, co_await ensure_wine_template(std::move(building), options.cache));
    CO_TRY(users, ContainerUsers::of_this_network());
    if (users.root() == 0) warn_of_root();
    CO_TRY_VOID(co_await start_network());
    CO_TRY_VOID(co_await start_runtime());
    const std::string drive = join_path(options.data, "C");
    if (!context.files.exists(drive)) CO_TRY_VOID(context.files.create_symlink(host->drive(), drive));
    CO_TRY_VOID(co_await boot());
    CO_TRY_VOID(csi->serve());
    ready = true;
    CO_TRY_VOID(listen());
    context.log.info("emulated host ready", {{"host", options.name}, {"version", options.profile.version()}, {"address", address}});
    co_return {};
}

Task<> WindowsHost::Impl::end_pods_and_host() {
    if (host) CO_TRY_VOID(co_await host->shut_down(ShutdownGrace));
    if (runtime) CO_TRY_VOID(co_await runtime->power_off());
    if (emulator) CO_TRY_VOID(co_await emulator->reboot());
    co_return {};
}

Task<> WindowsHost::Impl::reboot() {
    CO_TRY(const Semaphore::Permit permit, co_await power_switch.acquire());
    context.log.info("the host reboots", {{"host", options.name}});
    ready = false;
    CO_TRY_VOID(co_await end_pods_and_host());
    if (const auto ended = co_await iscsi.end(); !ended)
        context.log.warn("the host's iSCSI sessions stay", {{"host", options.name}, {"error", ended.error().message}});
    CO_TRY_VOID(co_await boot());
    ready = true;
    co_return {};
}

Task<> WindowsHost::Impl::power_off() {
    if (control) CO_TRY_VOID(co_await control->close());
    if (wine.folder.empty()) co_return {};  // it has not come far
    auto ended = co_await end_pods_and_host();
    if (csi) CO_TRY_VOID(co_await csi->close());
    if (cri) CO_TRY_VOID(co_await cri->close());
    if (runtime) CO_TRY_VOID(co_await runtime->close());
    if (hns_server) CO_TRY_VOID(co_await hns_server->close());
    if (emulator) CO_TRY_VOID(co_await emulator->close());
    CO_TRY_VOID(ended);
    Cgroups(context.files).remove_empty(AllHosts);
    CO_TRY_VOID(unmount_below(runtime_folder(options.data)));
    CO_TRY_VOID(unmount_below(host_folder(options.data)));
    co_return co_await iscsi.end();
}

WindowsHost::WindowsHost(WindowsHostContext context, WindowsHostOptions options)
    : impl_(std::make_unique<Impl>(context, std::move(options))) {}
WindowsHost::~WindowsHost() = default;

Task<> WindowsHost::start() { return impl_->start(); }
Task<> WindowsHost::wait_for_shutdown() { return impl_->shutdown_wanted.wait(); }
Task<> WindowsHost::power_off() { return impl_->power_off(); }
Task<> WindowsHost::reboot() { return impl_->reboot(); }

namespace {

Task<> end_containers(WindowsHostContext context, std::string folder) {
    Runc runc(context.processes, context.files, join_path(folder, "runc"));
    CO_TRY(const auto ids, runc.list());
    for (const std::string& id : ids) CO_TRY_VOID(co_await runc.remove(id));
    co_return {};
}

Result<void> remove_namespaces(FileSystem& files, const std::string& folder) {
    const auto names = files.list(folder);
    if (!names) return {};
    for (const std::string& name : *names) TRY_VOID(hns::emulator::remove_network_namespace(join_path(folder, name)));
    return {};
}

}  // namespace

Task<> clean_up_host(WindowsHostContext context, std::string name, std::string data) {
    if (!context.files.exists(data)) co_return {};
    CO_TRY(const FileLock lock, lock_folder(data));
    CO_TRY_VOID(co_await end_containers(context, host_folder(data)));
    CO_TRY_VOID(co_await end_containers(context, runtime_folder(data)));
    Cgroups cgroups(context.files);
    cgroups.remove(host_cgroup(name, data));
    cgroups.remove(std::string(AllHosts) + "/" + unique_name(name, data));
    cgroups.remove_empty(AllHosts);
    CO_TRY_VOID(remove_namespaces(context.files, namespaces_folder(data)));
    CO_TRY_VOID(unmount_below(data));
    IscsiInitiator iscsi(iscsi_of(context, name, data));
    co_return co_await iscsi.end();
}

}  // namespace porthole::winhost
