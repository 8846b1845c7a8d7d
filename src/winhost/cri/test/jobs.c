// jobs.exe: a program of the tests' Windows image. Asks jobs as .NET and Java do, and uses one of its own.
#include <stdio.h>
#include <string.h>
#include <windows.h>

enum { GroupInformation = 11, GroupInformationEx = 14, CpuRateControl = 15 };

static void print_limits(const char* whose, HANDLE job) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;
    struct {
        DWORD flags, rate;
    } rate = {9, 9};
    BOOL done = QueryInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits, NULL);
    printf("%s: %d, memory %s %llu", whose, done, limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY ? "limited to" : "unlimited",
           (unsigned long long)limits.JobMemoryLimit);
    done = QueryInformationJobObject(job, CpuRateControl, &rate, sizeof rate, NULL);
    printf("; %d, processors %s %lu\n", done, rate.flags == 5 ? "limited to" : rate.flags == 0 ? "unlimited" : "?", rate.rate);
}

static void print_groups(HANDLE job) {
    DWORD size = 0;
    USHORT groups[4] = {9, 9, 9, 9};
    GROUP_AFFINITY affinities[4];
    BOOL done = QueryInformationJobObject(job, GroupInformationEx, NULL, 0, &size);
    printf("groups: %d error %lu, %lu bytes", done, GetLastError(), size);
    done = QueryInformationJobObject(job, GroupInformationEx, affinities, sizeof affinities, &size);
    printf("; %d, %lu bytes, group %u, processors %d", done, size, affinities[0].Group, affinities[0].Mask != 0);
    done = QueryInformationJobObject(job, GroupInformation, groups, sizeof groups, &size);
    printf("; %d, %lu bytes, group %u\n", done, size, groups[0]);
}

static void print_refusals(void) {
    DWORD short_answer[1];
    BOOL done = QueryInformationJobObject(NULL, CpuRateControl, short_answer, sizeof short_answer, NULL);
    printf("refused: %d error %lu", done, GetLastError());
    done = QueryInformationJobObject(GetCurrentProcess(), GroupInformationEx, short_answer, sizeof short_answer, NULL);
    printf("; %d error %lu", done, GetLastError());
    done = QueryInformationJobObject(NULL, 99, short_answer, sizeof short_answer, NULL);
    printf("; %d error %lu\n", done, GetLastError());
}

/// A program's children end with its job, and it hears of them.
static void use_job(const char* program) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION account;
    const HANDLE job = CreateJobObjectA(NULL, NULL), port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
    JOBOBJECT_ASSOCIATE_COMPLETION_PORT associated = {(void*)5, port};
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION child;
    char line[MAX_PATH + 8];
    DWORD message, wait;
    ULONG_PTR key;
    OVERLAPPED* process;
    BOOL inside = 9;
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    SetInformationJobObject(job, JobObjectAssociateCompletionPortInformation, &associated, sizeof associated);
    snprintf(line, sizeof line, "\"%s\" stay", program);
    if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &start, &child)) return;
    AssignProcessToJobObject(job, child.hProcess);
    ResumeThread(child.hThread);
    IsProcessInJob(child.hProcess, job, &inside);
    GetQueuedCompletionStatus(port, &message, &key, &process, 10000);
    QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &account, sizeof account, NULL);
    printf("child: inside %d, message %lu of %s, active %lu", inside, message, (DWORD)(ULONG_PTR)process == child.dwProcessId ? "it" : "?",
           account.ActiveProcesses);
    CloseHandle(job);
    wait = WaitForSingleObject(child.hProcess, 10000);
    printf("; ended with its job: %d\n", wait == WAIT_OBJECT_0);
    if (wait != WAIT_OBJECT_0) TerminateProcess(child.hProcess, 1);
}

int main(int count, char** words) {
    if (count > 1) Sleep(INFINITE);
    BOOL inside = 9;
    IsProcessInJob(GetCurrentProcess(), NULL, &inside);
    printf("in a job: %d\n", inside);
    print_limits("own", NULL);
    print_limits("other", CreateJobObjectA(NULL, NULL));
    print_groups(NULL);
    print_refusals();
    use_job(words[0]);
    return 0;
}
