Written by Espalier                                                     ESPALIER
             3             1             1             1
IRA                        2             3             3             0
(40I2)          (40I2)          (10I8)              
 1 3 3 4
 1 2 1
       1    -123 4000000
