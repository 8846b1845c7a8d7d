#include <windows.h>

#include <bit>
#include <vector>

#include "base/wide_windows.h"
#include "cmd/self_check/machine.h"
#include "runtime/handle_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

int count_of(const GROUP_AFFINITY& affinity) { return std::popcount(static_cast<unsigned long long>(affinity.Mask)); }

/// What a node tells as its processors, by the other ways in which Windows counts them.
Result<Value> counted(Machine&) {
    const DWORD all = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    DWORD sum = 0;
    const WORD groups = GetActiveProcessorGroupCount();
    for (WORD group = 0; group < groups; ++group) sum += GetActiveProcessorCount(group);

    DWORD size = 0;
    GetLogicalProcessorInformationEx(RelationGroup, nullptr, &size);
    std::vector<char> memory(size);
    auto* const info = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(memory.data());
    if (!GetLogicalProcessorInformationEx(RelationGroup, info, &size)) return windows_error("the list of groups", GetLastError());
    DWORD listed = 0;
    for (WORD group = 0; group < info->Group.ActiveGroupCount; ++group) listed += info->Group.GroupInfo[group].ActiveProcessorCount;
    return Value::object(
        {{"some", all > 0}, {"inGroups", sum == all}, {"listed", listed == all && info->Group.ActiveGroupCount == groups}});
}

/// On a host with one group, which it is on most.
Result<Value> of_process(Machine&) {
    USHORT count = 0, groups[32] = {};
    const bool told = !GetProcessGroupAffinity(GetCurrentProcess(), &count, nullptr) && GetLastError() == ERROR_INSUFFICIENT_BUFFER;
    const bool some = told && count > 0 && count <= std::size(groups) && GetProcessGroupAffinity(GetCurrentProcess(), &count, groups);
    return Value::object({{"some", some}, {"known", some && groups[0] < GetActiveProcessorGroupCount()}});
}

Result<Value> of_thread(Machine&) {
    GROUP_AFFINITY before{}, set{}, replaced{};
    if (!GetThreadGroupAffinity(GetCurrentThread(), &before)) return windows_error("the thread's processors", GetLastError());
    GROUP_AFFINITY one = before;
    one.Mask = before.Mask & (~before.Mask + 1);
    const bool pinned = SetThreadGroupAffinity(GetCurrentThread(), &one, &replaced) && GetThreadGroupAffinity(GetCurrentThread(), &set);
    Sleep(1);
    PROCESSOR_NUMBER now{};
    GetCurrentProcessorNumberEx(&now);
    const DWORD_PTR told = SetThreadAffinityMask(GetCurrentThread(), before.Mask);
    SetThreadGroupAffinity(GetCurrentThread(), &before, nullptr);
    return Value::object(
        {{"pinned", pinned && set.Mask == one.Mask && set.Group == before.Group},
         {"runsThere", now.Group == before.Group && now.Number == std::countr_zero(static_cast<unsigned long long>(one.Mask))},
         {"previous", replaced.Mask == before.Mask && told == one.Mask}});
}

/// Java asks its job, and .NET and Java count its processors by it.
Result<Value> of_job(Machine&) {
    const Handle job(CreateJobObjectW(nullptr, nullptr));
    USHORT groups[32] = {};
    GROUP_AFFINITY affinities[32] = {};
    DWORD groups_size = 0, affinities_size = 0;
    if (!QueryInformationJobObject(job.get(), JobObjectGroupInformation, groups, sizeof groups, &groups_size) ||
        !QueryInformationJobObject(job.get(), JobObjectGroupInformationEx, affinities, sizeof affinities, &affinities_size))
        return windows_error("the groups of a job", GetLastError());
    int processors = 0;
    for (std::size_t i = 0; i < affinities_size / sizeof affinities[0]; ++i) processors += count_of(affinities[i]);
    return Value::object({{"allGroups", groups_size / sizeof groups[0] == GetActiveProcessorGroupCount()},
                          {"allProcessors", processors == static_cast<int>(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS))}});
}

}  // namespace

Area area_processors() {
    return {.probes = {{"counted", counted}, {"of-process", of_process}, {"of-thread", of_thread}, {"of-job", of_job}}, .parts = {}};
}

}  // namespace porthole::cmd::self_check
