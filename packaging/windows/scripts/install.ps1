<#
.SYNOPSIS
Puts the programs of this zip into one folder, under all of their names, and the folder into PATH.
.EXAMPLE
.\install.ps1 -Kubeconfig C:\Users\me\config
#>
param(
    [string] $Folder = 'C:\k',
    [string] $LogDir = "$Folder\logs",
    [string] $Kubeconfig = '',          # copied to $Folder\config, for nodes that join without a token
    [switch] $SetKubeconfig             # KUBECONFIG of this user points to $Folder\config
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator

# What is to last is written by the program; this console is told here.
$arguments = @('install', '--folder', $Folder, '--log-dir', $LogDir, '--add-to-path')
if ($SetKubeconfig) { $arguments += @('--set-kubeconfig') }
if ($Kubeconfig) { $arguments += @('--kubeconfig', $Kubeconfig) }
Invoke-Program "$PSScriptRoot\..\porthole.exe" $arguments
Copy-Item -Force "$PSScriptRoot\*.ps1", "$PSScriptRoot\*.psm1" $Folder

if (($env:Path -split ';') -notcontains $Folder) { $env:Path += ";$Folder" }
if ($SetKubeconfig) { $env:KUBECONFIG = "$Folder\config" }
# Taking away a variable that nobody has changes nothing, and tells Explorer to read the environment again for its next consoles.
[Environment]::SetEnvironmentVariable('PORTHOLE_NONE', $null, 'User')
Write-Host "Next: $Folder\porthole.exe join SERVER:6443 --token TOKEN --discovery-token-ca-cert-hash sha256:HASH"
