#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "csi_proxy/csi_proxy.h"
#include "csi_proxy/local_files.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::csi_proxy::testing {

/// A drive in memory without regard to case: "C:\Var" is "/c:/var" there, also in links.
class MemoryDrive final : public FileSystem {
public:
    explicit MemoryDrive(const Clock& clock) : memory_(clock) {}

    static std::string place(const std::string& path) {
        std::string place = to_lower(path);
        std::ranges::replace(place, '\\', '/');
        return "/" + place;
    }
    Result<std::string> read(const std::string& path, std::size_t limit) override { return memory_.read(place(path), limit); }
    Result<std::string> read_at(const std::string& path, std::uint64_t offset, std::size_t count) override {
        return memory_.read_at(place(path), offset, count);
    }
    Result<void> write(const std::string& path, std::string_view text, std::uint32_t mode) override {
        return memory_.write(place(path), text, mode);
    }
    Result<void> replace(const std::string& path, std::string_view text, std::uint32_t mode) override {
        return memory_.replace(place(path), text, mode);
    }
    Result<void> create_directories(const std::string& path, std::uint32_t mode) override {
        return memory_.create_directories(place(path), mode);
    }
    Result<void> remove(const std::string& path) override { return memory_.remove(place(path)); }
    Result<void> remove_all(const std::string& path) override { return memory_.remove_all(place(path)); }
    Result<void> rename(const std::string& from, const std::string& to) override { return memory_.rename(place(from), place(to)); }
    Result<void> create_symlink(const std::string& target, const std::string& path) override {
        return memory_.create_symlink(place(target), place(path));
    }
    Result<std::string> read_link(const std::string& path) override {
        TRY(std::string target, memory_.read_link(place(path)));
        std::ranges::replace(target, '/', '\\');
        return target.substr(1);
    }
    Result<std::string> real_path(const std::string& path) override { return memory_.real_path(place(path)); }
    Result<FileStatus> status(const std::string& path) override { return memory_.status(place(path)); }
    Result<FileStatus> link_status(const std::string& path) override { return memory_.link_status(place(path)); }
    Result<std::vector<std::string>> list(const std::string& path) override { return memory_.list(place(path)); }
    Result<void> change_mode(const std::string& path, std::uint32_t mode) override { return memory_.change_mode(place(path), mode); }
    Result<void> change_owner(const std::string& path, std::optional<std::uint32_t> uid, std::optional<std::uint32_t> gid) override {
        return memory_.change_owner(place(path), uid, gid);
    }
    Result<FileSystemUsage> usage(const std::string& path) override { return memory_.usage(place(path)); }

private:
    sim::MemoryFileSystem memory_;
};

/// Disks, volumes, shares, the machine and its initiator that record their calls.
class NotedHost final : public Disks, public Volumes, public Shares, public Machine, public Iscsi {
public:
    std::vector<std::string> notes;
    std::vector<Disk> disks;
    HostUse use;  ///< of every disk and volume

    Task<std::vector<Disk>> list() override { co_return disks; }
    Task<> rescan() override { return note("rescan"); }
    Task<> partition(DiskNumber disk) override { return note("partition " + std::to_string(disk)); }
    Task<std::int64_t> size(DiskNumber disk) override { co_return std::int64_t{1000} * disk; }
    Task<bool> is_online(DiskNumber disk) override { co_return disk == 1; }
    Task<> set_online(DiskNumber disk, bool online) override { return note((online ? "online " : "offline ") + std::to_string(disk)); }
    Task<std::vector<std::string>> list(DiskNumber disk, std::uint32_t partition) override {
        co_return std::vector<std::string>{"volume of " + std::to_string(disk) + "." + std::to_string(partition)};
    }
    Task<> mount(std::string volume, std::string path) override { return note("mount " + volume + " at " + path); }
    Task<> unmount(std::string volume, std::string path) override { return note("unmount " + volume + " at " + path); }
    Task<bool> is_formatted(std::string) override { co_return true; }
    Task<> format(std::string volume) override { return note("format " + volume); }
    Task<> resize(std::string volume, std::int64_t bytes) override { return note("resize " + volume + " " + std::to_string(bytes)); }
    Task<Stats> stats(std::string) override { co_return Stats{.total = 100, .used = 40}; }
    Task<DiskNumber> disk_of(std::string) override { co_return 7; }
    Task<std::string> volume_at(std::string path) override { co_return "volume at " + path; }
    Task<> flush(std::string volume) override { return note("flush " + volume); }
    Task<HostUse> use_of(DiskNumber) override { co_return use; }
    Task<HostUse> use_of(std::string) override { co_return use; }
    Task<> map(std::string remote, std::string user, std::string password) override {
        return note("map " + remote + " as " + user + " with " + password);
    }
    Task<> unmap(std::string remote) override { return note("unmap " + remote); }
    Task<> add_portal(Portal portal) override { return note("add " + text(portal)); }
    Task<> remove_portal(Portal portal) override { return note("remove " + text(portal)); }
    Task<std::vector<Portal>> portals() override { co_return std::vector<Portal>{{"10.0.0.9", 3260}}; }
    Task<std::vector<std::string>> discover(Portal portal) override { co_return std::vector<std::string>{"iqn.of." + portal.address}; }
    Task<> connect(Portal portal, std::string target, Login login) override {
        return note("connect " + text(portal) + " " + target + " " + std::to_string(static_cast<int>(login.chap)) + login.user +
                    login.secret);
    }
    Task<> disconnect(Portal portal, std::string target) override { return note("disconnect " + text(portal) + " " + target); }
    Task<std::vector<DiskNumber>> disks_of(Portal, std::string) override { co_return std::vector<DiskNumber>{3, 4}; }
    Task<> set_mutual_secret(std::string secret) override { return note("mutual " + secret); }
    Task<std::string> serial_number() override { co_return "serial"; }
    Task<Service> service(std::string name) override {
        Service service;
        service.display_name = name;
        co_return service;
    }
    Task<> start_service(std::string name) override { return note("start " + name); }
    Task<> stop_service(std::string name, bool with_dependents) override {
        return note("stop " + name + (with_dependents ? " and others" : ""));
    }

private:
    static std::string text(const Portal& portal) { return portal.address + ":" + std::to_string(portal.port); }
    Task<> note(std::string text) {
        notes.push_back(std::move(text));
        co_return {};
    }
};

/// A proxy of a host in memory. Its kubelet's directory is C:\k.
struct MemoryHost {
    explicit MemoryHost(bool only_files = false)
        : proxy(pool, rules, only_files ? Host{*files} : Host{*files, &host, &host, &host, &host, &host}) {
        (void)drive.create_directories("C:\\k\\plugins", 0755);
        (void)drive.create_directories("C:\\k\\pods", 0755);
        (void)drive.create_directories("C:\\Windows", 0755);
    }
    template <class Method>
    Result<typename Method::Response> call(const Method& method, const typename Method::Request& request, std::string path = "") {
        const auto* unary = proxy.handler().find(path.empty() ? std::string(method.path) : path);
        if (!unary) return Error(Reason::MethodNotAllowed, "no such method");
        TRY(const std::string bytes, sim::run(loop, (*unary)(schema::encode_protobuf(request))));
        return schema::decode_protobuf<typename Method::Response>(bytes);
    }

    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    MemoryDrive drive{loop};
    NotedHost host;
    PathRules rules = PathRules::create({"C:\\k"}).value();
    std::unique_ptr<Files> files = make_local_files(drive, rules);
    CsiProxy proxy;
};

}  // namespace porthole::csi_proxy::testing
