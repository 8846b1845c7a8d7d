<#
.SYNOPSIS
Takes this machine out of its cluster: services, pods, HNS networks, firewall rules and credentials. -Programs also deletes the folder and
takes it out of PATH. Before: kubectl drain NODE; afterwards: kubectl delete node NODE.
#>
param(
    [string] $Folder = 'C:\k',
    [switch] $Programs
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator
Assert-Program "$Folder\porthole.exe"
Invoke-Program "$Folder\porthole.exe" @('leave', '--folder', $Folder)
if ($Programs) {
    $rest = [Environment]::GetEnvironmentVariable('Path', 'Machine') -split ';' | Where-Object { $_ -and $_ -ne $Folder }
    [Environment]::SetEnvironmentVariable('Path', ($rest -join ';'), 'Machine')
    Set-Location $env:SystemDrive\
    Remove-Item -Recurse -Force $Folder
}
