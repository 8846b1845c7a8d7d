#include "winhost/disks/attached_disks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace porthole::winhost {
namespace {

constexpr std::size_t UsedStart = 1 << 20;  // whatever uses a disk without a table has something there

bool is_name(const std::string& name) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    };
    return name.size() <= AttachedDisks::LongestName && !name.starts_with('.') && std::ranges::all_of(name, allowed);
}

/// The second copy first: if this ends in between, the first one still says what was.
Result<void> write_table(const AttachedDisk& disk, const PartitionTable& table) {
    const auto failed = [&] { return Error(Reason::Io, "writing " + disk.image + ": " + std::strerror(errno)); };
    const int file = ::open(disk.image.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return failed();
    Result<void> written;
    const std::uint64_t bytes = disk.bytes - disk.bytes % 512;
    const auto write = [&](const std::string& text, std::uint64_t offset) {
        if (!written) return;
        if (::pwrite(file, text.data(), text.size(), static_cast<off_t>(offset)) != static_cast<ssize_t>(text.size()) || ::fsync(file) != 0)
            written = failed();
    };
    write(partition_table_end(table, bytes), bytes - TableEnd);
    write(partition_table_start(table, bytes), 0);
    ::close(file);
    return written;
}

}  // namespace

std::optional<AttachedDisk> AttachedDisks::find_image(const std::string& name) {
    const auto image = files_.real_path(join_path(folder_, name));
    const auto status = image ? files_.status(*image) : Result<FileStatus>(image.error());
    if (!status || !status->is_regular() || status->size < SmallestDisk) return std::nullopt;  // also one that was just removed
    return AttachedDisk{.name = name, .image = *image, .bytes = status->size, .serial_number = name, .unique_id = name};
}

void AttachedDisks::read_table(AttachedDisk& disk) {
    const auto start = files_.read_at(disk.image, 0, DiskStart);
    const auto end = files_.read_at(disk.image, disk.bytes - disk.bytes % 512 - TableEnd, TableEnd);
    if (!start || !end) {
        disk.problem = (start ? end : start).error().message;
        return;
    }
    auto table = parse_partition_table(*start, *end, disk.bytes);
    if (table) {
        disk.table = *std::move(table);
    } else {
        disk.problem = table.error().message;
    }
}

void AttachedDisks::give_numbers(std::vector<AttachedDisk>& disks) {
    const auto is_there = [&](const std::string& name) {
        return std::ranges::any_of(disks, [&](const AttachedDisk& one) { return one.name == name; });
    };
    std::erase_if(numbers_, [&](const auto& known) { return !is_there(known.first); });
    std::set<std::uint32_t> taken;
    for (const auto& [name, number] : numbers_) taken.insert(number);
    for (AttachedDisk& disk : disks) {
        std::uint32_t& number = numbers_[disk.name];
        for (std::uint32_t next = 1; number == 0; ++next)
            if (taken.insert(next).second) number = next;
        disk.number = number;
    }
    std::ranges::sort(disks, {}, &AttachedDisk::number);
}

Result<std::vector<AttachedDisk>> AttachedDisks::list() {
    TRY_VOID(files_.create_directories(folder_, 0700));
    TRY(const std::vector<std::string> names, files_.list(folder_));
    std::vector<AttachedDisk> disks;
    for (const std::string& name : names) {
        if (disks.size() == MostDisks) break;
        if (auto disk = is_name(name) ? find_image(name) : std::nullopt) disks.push_back(*std::move(disk));
    }
    for (AttachedDisk& device : devices_ ? devices_->list() : std::vector<AttachedDisk>()) {
        if (disks.size() == MostDisks) break;
        disks.push_back(std::move(device));
    }
    for (AttachedDisk& disk : disks)
        if (disk.problem.empty()) read_table(disk);
    give_numbers(disks);
    return disks;
}

Result<AttachedDisk> AttachedDisks::find(std::uint32_t number) {
    TRY(const auto disks, list());
    const auto found = std::ranges::find(disks, number, &AttachedDisk::number);
    if (found == disks.end()) return Error(Reason::NotFound, "this host has no disk " + std::to_string(number));
    return *found;
}

Result<AttachedDisk> AttachedDisks::find_partition(const std::string& id) {
    TRY(auto disks, list());
    std::erase_if(disks, [&](const AttachedDisk& one) { return !one.table || !one.table->partition || one.table->partition->id != id; });
    if (disks.empty()) return Error(Reason::NotFound, "no attached disk has the volume " + id);
    if (disks.size() > 1)
        return Error(Reason::Conflict, "the disks " + disks[0].name + " and " + disks[1].name + " are copies: both have the volume " + id);
    return disks.front();
}

Result<void> AttachedDisks::partition(const AttachedDisk& disk) {
    if (!disk.problem.empty()) return Error(Reason::Conflict, "disk " + disk.name + ": " + disk.problem);
    if (disk.table && disk.table->partition) return {};
    TRY(const std::string start, files_.read_at(disk.image, 0, UsedStart));
    if (!disk.table && start.find_first_not_of('\0') != start.npos)
        return Error(Reason::Conflict, "disk " + disk.name + " has no partition table, but is not empty; it stays as it is");
    PartitionTable table = disk.table ? *disk.table : PartitionTable{.disk_id = random_.uuid()};
    table.partition = whole_disk(random_.uuid(), table.reserved, disk.bytes);
    if (table.partition->bytes == 0) return Error(Reason::Conflict, "disk " + disk.name + " has no room after its reserved partition");
    return write_table(disk, table);
}

Result<Partition> AttachedDisks::grow_partition(const AttachedDisk& disk, std::uint64_t bytes) {
    if (!disk.table || !disk.table->partition) return Error(Reason::Conflict, "disk " + disk.name + " has no partition");
    PartitionTable table = *disk.table;
    Partition& partition = *table.partition;
    const std::uint64_t end = end_of_room(table, disk.bytes);
    const std::uint64_t most = end > partition.start ? end - partition.start : 0;
    const std::uint64_t wanted = bytes == 0 ? most : std::min(bytes - bytes % 512, most);
    if (wanted <= partition.bytes) return partition;
    partition.bytes = wanted;
    TRY_VOID(write_table(disk, table));
    return partition;
}

}  // namespace porthole::winhost
