-- epoch --
SELECT epoch FROM main.revocation_epochs
 WHERE project = :project AND tenant = :tenant AND principal_class = :principal_class;

-- bump_epoch --
UPDATE main.revocation_epochs SET epoch = epoch + 1, updated_at = :now
 WHERE project = :project AND tenant = :tenant AND principal_class = :principal_class
RETURNING epoch;

-- first_epoch --
INSERT INTO main.revocation_epochs (project, tenant, principal_class, epoch, updated_at)
VALUES (:project, :tenant, :principal_class, 1, :now)
ON CONFLICT (project, tenant, principal_class) DO NOTHING
RETURNING epoch;
